// The layers of each network, up to and with its outputs.
#pragma once

#include "tasks/dnn/models/graph_writer.hpp"

namespace rtexec::tasks {

/// Height and width of the input in pixels, and the number of classes.
struct NetworkSize {
  int size;
  int classes;
};

// Redmon, Farhadi: YOLOv3: An Incremental Improvement, 2018; layer shapes of darknet's yolov3.cfg and yolov3-tiny.cfg.
void yolov3(GraphWriter& graph, NetworkSize size);
void yolov3_tiny(GraphWriter& graph, NetworkSize size);

// He et al.: Deep Residual Learning for Image Recognition, 2015; Xie et al.: Aggregated Residual Transformations, 2016.
// Layer shapes of torchvision (stride in the 3x3 convolution).
void resnet18(GraphWriter& graph, NetworkSize size);
void resnet50(GraphWriter& graph, NetworkSize size);
void resnet152(GraphWriter& graph, NetworkSize size);
void resnext50(GraphWriter& graph, NetworkSize size);

// Huang et al.: Densely Connected Convolutional Networks, 2016; layer shapes of torchvision.
void densenet201(GraphWriter& graph, NetworkSize size);

// Szegedy et al.: Going Deeper with Convolutions, 2014; layer shapes of torchvision (batch-normalised, without the
// auxiliary classifiers).
void googlenet(GraphWriter& graph, NetworkSize size);

/// Declares the classifier's output, and how pictures are normalised for it.
void finish_classifier(GraphWriter& graph, const Value& features, int classes);

} // namespace rtexec::tasks

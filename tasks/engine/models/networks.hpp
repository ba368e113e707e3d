// Functions that write the layers of each network, including its outputs.
#pragma once

#include "tasks/engine/models/graph_writer.hpp"

namespace rtexec::tasks {

/// Height and width of the input in pixels, and the number of classes.
struct NetworkSize {
  int size;
  int classes;
};

// Redmon, Farhadi: YOLOv3: An Incremental Improvement, 2018; layer shapes of darknet's yolov3.cfg and yolov3-tiny.cfg.
void yolov3(GraphWriter& graph, NetworkSize size);
void yolov3_tiny(GraphWriter& graph, NetworkSize size);

// Redmon, Farhadi: YOLO9000: Better, Faster, Stronger, 2016; layer shapes of darknet's yolov2.cfg. Boxes are decoded as
// in YOLOv3: a class is scored by its logistic function, not by a softmax over all classes.
void yolov2(GraphWriter& graph, NetworkSize size);

// He et al.: Deep Residual Learning for Image Recognition, 2015; Xie et al.: Aggregated Residual Transformations, 2016.
// Layer shapes of torchvision (stride in the 3x3 convolution).
void resnet18(GraphWriter& graph, NetworkSize size);
void resnet50(GraphWriter& graph, NetworkSize size);
void resnet152(GraphWriter& graph, NetworkSize size);
void resnext50(GraphWriter& graph, NetworkSize size);
void resnext101_32x8d(GraphWriter& graph, NetworkSize size);

// Layer shapes of darknet's resnext152-32x4d.cfg: shortcuts without weights, twice as many channels at the end of a
// block.
void resnext152_32x4d(GraphWriter& graph, NetworkSize size);

// Huang et al.: Densely Connected Convolutional Networks, 2016; layer shapes of torchvision.
void densenet201(GraphWriter& graph, NetworkSize size);

// Szegedy et al.: Going Deeper with Convolutions, 2014; layer shapes of torchvision (batch-normalised, without the
// auxiliary classifiers).
void googlenet(GraphWriter& graph, NetworkSize size);

// Tao, Barker, Sarathy: DetectNet: Deep Neural Network for Object Detection in DIGITS, 2016. It is the original
// GoogLeNet (5x5 convolutions, local response normalisation) up to its last module, at stride 16. It has two raw
// outputs. The coverage [1, classes, height, width] is a value from 0 to 1 for each cell. The box [1, 4, height, width]
// is the box that each cell predicts: left, top, right and bottom in pixels relative to the cell.
void detectnet(GraphWriter& graph, NetworkSize size);

// Howard et al.: Searching for MobileNetV3, 2019; layer shapes of torchvision's mobilenet_v3_large.
void mobilenet_v3(GraphWriter& graph, NetworkSize size);

// Tan, Le: EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, 2019; layer shapes of torchvision.
void efficientnet_b0(GraphWriter& graph, NetworkSize size);

// LeCun et al.: Gradient-Based Learning Applied to Document Recognition, 1998; in the form that is usual today, with
// three colour channels, ReLU and max pooling.
void lenet5(GraphWriter& graph, NetworkSize size);

/// Adds a fully connected layer that classifies the mean of each channel of `features`.
void classify(GraphWriter& graph, const Value& features, int classes);

/// Declares the classifier's output, and the normalisation of pictures for the network.
void finish_classifier(GraphWriter& graph, const Value& logits);

} // namespace rtexec::tasks

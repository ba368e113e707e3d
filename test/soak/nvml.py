"""What a process holds of the memory of this machine's GPUs, as NVIDIA's management library tells it."""
import ctypes

MOST_PROCESSES = 64
NOT_AVAILABLE = 2**64 - 1


class Process(ctypes.Structure):  # nvmlProcessInfo_t
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint),
                ("compute_instance", ctypes.c_uint)]


class Gpus:
    def __init__(self):
        self.handles = []
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        count = ctypes.c_uint()
        if self.library.nvmlInit_v2() or self.library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return
        for number in range(count.value):
            handle = ctypes.c_void_p()
            if self.library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle)) == 0:
                self.handles.append(handle)

    def used_kb(self, process):
        """None: it is on no GPU, or that is not told."""
        used = [each.used for handle in self.handles for each in self.processes(handle)
                if each.pid == process and each.used != NOT_AVAILABLE]
        return sum(used) // 1024 if used else None

    def processes(self, handle):
        count, found = ctypes.c_uint(MOST_PROCESSES), (Process * MOST_PROCESSES)()
        if self.library.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), found):
            return []
        return found[:count.value]

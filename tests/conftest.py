import signal

from controlplane.fixtures import controlplane, namespace, product, pytest_collection_finish

__all__ = ["controlplane", "namespace", "product", "pytest_collection_finish"]

# Whatever a shell runs in the background ignores SIGINT, and under nohup SIGHUP too, and so would every
# process that the tests start and end by a signal, as a terminal does.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

"""Which functions of the library have been called: each is replaced by one that notes its name."""
from facet import _declarations
from facet._library import lib


def begin():
    called = set()

    class Counted(lib._FuncPtr):
        _flags_, _restype_ = lib._FuncPtr._flags_, lib._FuncPtr._restype_

        def __call__(self, *arguments):
            called.add(self.__name__)
            return super().__call__(*arguments)

    for name, (result, arguments) in _declarations.FUNCTIONS.items():
        function = Counted((name, lib))
        function.__name__ = name
        function.restype, function.argtypes = result, arguments
        setattr(lib, name, function)
    return called

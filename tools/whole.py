"""Files of Python programs that are there as a whole or not at all: of the viewer and of the benches."""
import os


def write_whole(path, data):
    """As base/file.c does it: under a new name beside the target, synchronized and renamed, with the permissions of the
    file that was there; a link is followed, and what is no regular file is written directly."""
    path = os.path.realpath(path) if not os.path.exists(path) or os.path.isfile(path) else path
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            file.write(data)
        return
    folder, name = os.path.split(path)
    name = name if len(os.fsencode(name)) <= 223 else "facet"
    for i in range(1000):
        part = os.path.join(folder, f"{name}.{os.getpid()}-{i}.part")
        try:
            number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            break
        except FileExistsError as there:
            taken = there
    else:
        raise taken
    try:
        with open(number, "wb") as file:
            if os.path.exists(path):
                os.fchmod(number, os.stat(path).st_mode & 0o777)
            file.write(data)
            file.flush()
            os.fsync(number)
        os.replace(part, path)
    except BaseException:  # also an interrupt
        os.unlink(part)
        raise

depth = 0


def range_push(name):
    global depth
    from .. import log
    log("push " + name)
    depth += 1


def range_pop():
    global depth
    from .. import log
    log("pop")
    depth -= 1
    assert depth >= 0, "more pops than pushes"

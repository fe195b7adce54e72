# For fingers used to make. Everything is in ./dev, which needs no make; arguments: make test ARGS="-k varint"
.PHONY: help run bench test check fmt cover proto fuzz sim lock

help run bench test check fmt cover proto fuzz sim lock:
	@./dev $@ $(ARGS)

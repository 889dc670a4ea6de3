"""What an image is, is told by its bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.workspace.images import ImageHead, image_head
from pictures import gif, jpeg, png, webp

IMAGES = {
    "png": png(640, 480),
    "gif": gif(640, 480),
    "jpeg": jpeg(640, 480),
    "webp": webp(640, 480),
    "webp, lossless": webp(640, 480, b"VP8L"),
    "webp, plain": webp(640, 480, b"VP8 "),
}


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_is_known_by_its_bytes(name):
    assert image_head(IMAGES[name]) == ImageHead(f"image/{name.partition(',')[0]}", 640, 480)


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_that_breaks_off_in_its_head_is_none(name):
    content = IMAGES[name]
    found = [image_head(content[:length]) for length in range(len(content))]
    assert set(found) <= {None, image_head(content)}
    assert found[12] is None or name == "gif"


@pytest.mark.parametrize("content", [b"", b"MZ\0\0", b"\xff\xd8\xff\xd9", png(0, 2), b"<svg></svg>"])
def test_what_is_no_image_is_none(content):
    assert image_head(content) is None


@given(st.sampled_from(list(IMAGES.values())), st.binary(max_size=60), st.integers(0, 30))
def test_no_bytes_raise(start, rest, kept):
    head = image_head(start[:kept] + rest)
    assert head is None or (head.width > 0 and head.height > 0)

"""Pretrained transformers as parts: tokenising, encoding, and vectors computed once.

``transformers``, ``tokenizers`` and ``peft`` are the extra ``lossnet[text]``. They are imported
when an encoder is first used, so that everything else works without them.
"""

from lossnet.encoders.cache import vectors_of
from lossnet.encoders.encoder import Encoder
from lossnet.encoders.pretrained import Pretrained
from lossnet.encoders.tokeniser import Coded, Subwords, Tokeniser

__all__ = ["Coded", "Encoder", "Pretrained", "Subwords", "Tokeniser", "vectors_of"]

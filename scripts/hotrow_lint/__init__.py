"""The checks behind ``make lint``. A check takes a SourceTree and returns the problems it sees."""

from hotrow_lint.include_graph import check_include_cycles, check_include_paths
from hotrow_lint.layers import check_layers
from hotrow_lint.sizes import (
    check_comment_share,
    check_file_lines,
    check_function_lines,
    check_parameters,
    check_test_share,
    figures,
)
from hotrow_lint.words import check_calls, check_header_form, check_words

__all__ = ["ALL_CHECKS", "figures"]

ALL_CHECKS = (
    check_file_lines,
    check_function_lines,
    check_parameters,
    check_comment_share,
    check_test_share,
    check_include_cycles,
    check_include_paths,
    check_layers,
    check_header_form,
    check_words,
    check_calls,
)

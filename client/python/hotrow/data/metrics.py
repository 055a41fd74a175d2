"""Quality of predictions: area under the ROC curve and logarithmic loss."""

import numpy as np

__all__ = ["auc", "logloss"]


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the probability that a positive scores above a negative, ties counting one half.

    Parameters
    ----------
    labels : (n,) array
        1 (positive) or 0.
    scores : (n,) array
        Any monotone score: logits and probabilities give the same result.

    Returns
    -------
    float
        ``nan`` when there are no positives or no negatives: it is not defined then.

    Raises
    ------
    ValueError
        When the shapes differ or a score is not a number.
    """
    labels, scores = _checked(labels, scores)
    positives = int(np.count_nonzero(labels))
    negatives = len(labels) - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    # Ranks start at 1; equal scores share the mean of their ranks.
    last_rank = np.cumsum(counts)
    mean_rank = last_rank - (counts - 1) / 2
    rank_sum = float(mean_rank[inverse][labels > 0].sum())
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


def logloss(labels: np.ndarray, logits: np.ndarray) -> float:
    """Return the mean binary cross entropy of logits, in nats.

    Works on logits, not probabilities, so that a confident prediction loses no digits.
    """
    labels, logits = _checked(labels, logits)
    if len(labels) == 0:
        return float("nan")
    return float(np.mean(np.logaddexp(0.0, logits) - labels * logits))


def _checked(labels: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    labels = np.asarray(labels, dtype=np.float64)
    scores = np.asarray(scores, dtype=np.float64)
    if labels.ndim != 1 or labels.shape != scores.shape:
        raise ValueError(f"labels {labels.shape} and scores {scores.shape} must be 1-D and alike")
    if np.isnan(scores).any():
        raise ValueError("a score is not a number")
    if not np.isin(labels, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1")
    return labels, scores

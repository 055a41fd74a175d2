"""Optimizers, initializers and connect options: what is taken and what is refused by name."""

import pickle

import pytest

import hotrow

NOT_OFFERED = [
    lambda: hotrow.Ftrl(),
    lambda: hotrow.Ftrl(alpha=0.1, beta=1.0, l1=0.5, l2=1.0),
    lambda: hotrow.Sgd(momentum=0.9),
    lambda: hotrow.Sgd(weight_decay=0.01),
    lambda: hotrow.Sgd(weight_decay_mode="l2"),
    lambda: hotrow.Adagrad(lr_decay=0.1),
    lambda: hotrow.Adagrad(weight_decay=0.01),
    lambda: hotrow.Adagrad(dialect="torch"),
    lambda: hotrow.RowwiseAdagrad(dialect="fbgemm"),
    lambda: hotrow.RowwiseAdagrad(state_dtype="float16"),
    lambda: hotrow.Adam(bias_correction="row"),
    lambda: hotrow.Adam(weight_decay_mode="decoupled"),
    lambda: hotrow.connect("127.0.0.1:1", tls=True),
    lambda: hotrow.connect("127.0.0.1:1", token="secret"),
    lambda: hotrow.connect("127.0.0.1:1", mode="bounded"),
    lambda: hotrow.connect("127.0.0.1:1", mode="sync"),
    lambda: hotrow.connect("127.0.0.1:1", max_steps_ahead=3),
    lambda: hotrow.connect("etcd://127.0.0.1:2379"),
    lambda: hotrow.connect(["http://127.0.0.1:2379"]),
]

MALFORMED = [
    lambda: hotrow.Sgd(lr=-1.0),
    lambda: hotrow.Sgd(lr=float("nan")),
    lambda: hotrow.Sgd(lr="fast"),
    lambda: hotrow.Adagrad(eps=float("inf")),
    lambda: hotrow.Adagrad(initial_accumulator_value=-0.1),
    lambda: hotrow.RowwiseAdagrad(eps=-1e-8),
    lambda: hotrow.Adam(betas=(0.9, 1.0)),
    lambda: hotrow.Adam(betas=(0.9,)),
    lambda: hotrow.Adam(bias_correction="none"),
    lambda: hotrow.Constant(float("inf")),
    lambda: hotrow.Uniform(1.0, -1.0),
    lambda: hotrow.Uniform(0.0, float("nan")),
    lambda: hotrow.Normal(0.0, -1.0),
    lambda: hotrow.connect(""),
    lambda: hotrow.connect([]),
    lambda: hotrow.connect("127.0.0.1:1,,"),
    lambda: hotrow.connect("127.0.0.1:1", mode="turbo"),
    lambda: hotrow.connect("127.0.0.1:1", rank=1),
    lambda: hotrow.connect("127.0.0.1:1", rank=-1, world_size=2),
    lambda: hotrow.connect("127.0.0.1:1", timeout=-1),
    lambda: hotrow.connect("127.0.0.1:1", timeout=0),
    lambda: hotrow.connect("127.0.0.1:1", timeout="soon"),
    lambda: hotrow.connect("127.0.0.1:1", job="x" * 129),
]


@pytest.mark.parametrize("make", NOT_OFFERED)
def test_what_this_version_lacks_is_refused_by_name(make):
    with pytest.raises(hotrow.Unimplemented, match="not offered") as caught:
        make()
    assert isinstance(caught.value, NotImplementedError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("make", MALFORMED)
def test_malformed_options_are_refused(make):
    with pytest.raises(hotrow.InvalidArgument) as caught:
        make()
    assert not isinstance(caught.value, hotrow.Unimplemented)


def test_defaults_are_those_of_the_named_libraries():
    assert hotrow.Sgd().lr == 0.01
    assert (hotrow.Adagrad().lr, hotrow.Adagrad().eps) == (0.01, 1e-10)
    assert (hotrow.RowwiseAdagrad().lr, hotrow.RowwiseAdagrad().eps) == (0.01, 1e-8)
    adam = hotrow.Adam()
    assert (adam.lr, adam.betas, adam.eps) == (1e-3, (0.9, 0.999), 1e-8)


@pytest.mark.parametrize(
    "value",
    [hotrow.Adam(0.1), hotrow.Sgd(), hotrow.Uniform(-1, 1), hotrow.Normal(), hotrow.Zeros()],
)
def test_options_are_values(value):
    assert pickle.loads(pickle.dumps(value)) == value
    assert eval(repr(value), vars(hotrow)) == value


def test_exported_names_are_there():
    for exported in hotrow.__all__:
        assert hasattr(hotrow, exported)
    assert hotrow.__version__.count(".") == 2

"""Time series: a temporal fusion transformer on a table of two series, with quantile losses."""

import numpy as np
import pandas
import torch
from pytorch_forecasting import TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.metrics import SMAPE, QuantileLoss
from report import report, train

torch.manual_seed(0)
numbers = np.random.default_rng(0)
table = pandas.DataFrame({"time": np.tile(np.arange(20), 2), "group": np.repeat(["a", "b"], 20)})
table["value"] = np.sin(table["time"] / 3) + 0.1 * numbers.normal(size=40)
series = TimeSeriesDataSet(
    table,
    time_idx="time",
    target="value",
    group_ids=["group"],
    max_encoder_length=6,
    max_prediction_length=2,
    time_varying_unknown_reals=["value"],
    time_varying_known_reals=["time"],
    static_categoricals=["group"],
)
x, (y, _) = next(iter(series.to_dataloader(train=False, batch_size=4)))
torch.set_default_dtype(torch.float64)
x = {name: value.double() if value.is_floating_point() else value for name, value in x.items()}
y = y.double()
model = TemporalFusionTransformer.from_dataset(
    series, hidden_size=8, attention_head_size=1, dropout=0.0, loss=QuantileLoss()
)
quantiles = QuantileLoss()
train(model, lambda: quantiles(model(x).prediction, y))
report(error=SMAPE()(model.to_prediction(model(x)), y))

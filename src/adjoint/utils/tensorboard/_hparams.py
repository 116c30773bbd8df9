"""Hyperparameters of a run and what came of it, for TensorBoard's table of them."""

from ... import _C
from .summary import Summary, _metadata


def _number(value):
    """A tensor as a number, anything else as it is."""
    return value.item() if isinstance(value, _C.Tensor) else value


def hparams(hparam_dict, metric_dict, hparam_domain_discrete=None):
    """Three summaries: of the experiment, of the start of a session and of its end."""
    from google.protobuf import struct_pb2
    from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2

    if not isinstance(hparam_dict, dict):
        raise TypeError("parameter: hparam_dict should be a dictionary, nothing logged.")
    if not isinstance(metric_dict, dict):
        raise TypeError("parameter: metric_dict should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for name, values in domains.items():
        own = type(hparam_dict.get(name))
        if name not in hparam_dict or not isinstance(values, list) or not all(isinstance(v, own) for v in values):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )

    def wrapped(value):
        if isinstance(value, str):
            return struct_pb2.Value(string_value=value)
        return struct_pb2.Value(number_value=float(value))

    infos, start = [], {}
    for name, given in hparam_dict.items():
        if given is None:
            continue
        value = _number(given)
        if not isinstance(value, (bool, int, float, str)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        start[name] = wrapped(value)
        kind = "DATA_TYPE_STRING" if isinstance(value, str) else "DATA_TYPE_FLOAT64"
        domain = {}
        if name in domains:
            domain["domain_discrete"] = struct_pb2.ListValue(values=[wrapped(item) for item in domains[name]])
        infos.append(api_pb2.HParamInfo(name=name, type=kind, **domain))
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]

    def noted(tag, **part):
        content = plugin_data_pb2.HParamsPluginData(version=0, **part).SerializeToString()
        return Summary(value=[Summary.Value(tag=f"_hparams_/{tag}", metadata=_metadata("hparams", content))])

    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    return (
        noted("experiment", experiment=experiment),
        noted("session_start_info", session_start_info=plugin_data_pb2.SessionStartInfo(hparams=start)),
        noted("session_end_info", session_end_info=plugin_data_pb2.SessionEndInfo(status="STATUS_SUCCESS")),
    )

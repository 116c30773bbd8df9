"""Weights from an address: kept once downloaded, refused when the hash in their name is not theirs, read safely."""

import pickle

import pytest

import adjoint


class Command:
    def __reduce__(self):
        return print, ("run",)


def test_a_file_with_another_hash_is_refused_and_not_kept(tmp_path):
    source = tmp_path / "weights-0123456789ab.pth"
    adjoint.save({"w": adjoint.ones(2)}, source)
    with pytest.raises(RuntimeError, match=r'invalid hash value \(expected "0123456789ab", got "[0-9a-f]{64}"\)'):
        adjoint.hub.load_state_dict_from_url(source.as_uri(), model_dir=tmp_path / "kept", check_hash=True)
    assert list((tmp_path / "kept").iterdir()) == []
    state = adjoint.hub.load_state_dict_from_url(source.as_uri(), model_dir=tmp_path / "kept")
    assert state["w"].tolist() == [1, 1]


def test_nothing_is_run_unless_asked_for(tmp_path, capsys):
    source = tmp_path / "weights.pth"
    adjoint.save([Command()], source, pickle_module=pickle)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        adjoint.hub.load_state_dict_from_url(source.as_uri(), model_dir=tmp_path / "kept")
    assert "run" not in capsys.readouterr().out.replace("Downloading", "").split()

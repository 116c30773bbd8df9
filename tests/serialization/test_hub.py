"""Weights from an address: kept once downloaded, refused when the hash in their name is not theirs, read safely."""

import http.server
import io
import os
import pickle
import threading
import zipfile

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


@pytest.fixture
def server():
    """An address whose files are `server.files`: name -> (bytes, Content-Length that is claimed, or None)."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            data, claimed = web.files[self.path.partition("?")[0]]
            self.send_response(200)
            if claimed is not None:
                self.send_header("Content-Length", str(claimed))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        web.files = {}
        web.address = f"http://127.0.0.1:{web.server_address[1]}"
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        yield web
        web.shutdown()
        thread.join()


def weights(value):
    file = io.BytesIO()
    adjoint.save({"w": adjoint.full((3,), value)}, file)
    return file.getvalue()


def zipped(name, data, compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr(name, data)
    return file.getvalue()


def test_a_download_that_breaks_off_is_not_kept(server, tmp_path):
    data = weights(1.0)
    server.files["/a.pth"] = data[:-100], len(data)
    with pytest.raises(RuntimeError, match=f"has {len(data)} bytes, but {len(data) - 100} came; try again"):
        adjoint.hub.load_state_dict_from_url(f"{server.address}/a.pth", model_dir=tmp_path)
    assert os.listdir(tmp_path) == []
    server.files["/a.pth"] = data, len(data)
    state = adjoint.hub.load_state_dict_from_url(f"{server.address}/a.pth?x=1", model_dir=tmp_path, file_name="b.pth")
    assert state["w"].tolist() == [1, 1, 1]
    assert os.listdir(tmp_path) == ["b.pth"]


def test_a_download_leaves_the_old_file_when_it_breaks_off(server, tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    server.files["/a"] = b"new", 4
    with pytest.raises(RuntimeError, match="has 4 bytes, but 3 came"):
        adjoint.hub.download_url_to_file(f"{server.address}/a", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"old"
    server.files["/a"] = b"new", None  # a server need not say how much there is
    adjoint.hub.download_url_to_file(f"{server.address}/a", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_zip_of_a_file_replaces_no_other_weights(server, tmp_path):
    server.files["/one.pth"] = weights(1.0), None
    server.files["/two.zip"] = zipped("one.pth", weights(2.0)), None
    for _ in range(2):
        for name, value in (("one.pth", 1.0), ("two.zip", 2.0)):
            state = adjoint.hub.load_state_dict_from_url(f"{server.address}/{name}", model_dir=tmp_path)
            assert state["w"].tolist() == [value] * 3
    assert sorted(os.listdir(tmp_path)) == ["one.pth", "two.zip"]


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    (tmp_path / "bomb.zip").write_bytes(zipped("weights.pth", bytes(20 << 20)))
    with pytest.raises(RuntimeError, match="more than 100 times as large as the archive"):
        adjoint.hub.load_state_dict_from_url((tmp_path / "bomb.zip").as_uri(), model_dir=tmp_path)
    assert os.listdir(tmp_path) == ["bomb.zip"]


def test_a_damaged_zip_of_a_file(tmp_path):
    data = zipped("weights.pth", weights(1.0), zipfile.ZIP_STORED)
    (tmp_path / "weights.zip").write_bytes(data.replace(b"data.pkl", b"dota.pkl"))
    with pytest.raises(RuntimeError, match="the archive is damaged"):
        adjoint.hub.load_state_dict_from_url((tmp_path / "weights.zip").as_uri(), model_dir=tmp_path)


def test_the_hash_of_a_file_that_was_kept_is_checked(tmp_path):
    adjoint.save({"w": adjoint.ones(2)}, tmp_path / "weights-0123456789ab.pth")
    address = (tmp_path / "weights-0123456789ab.pth").as_uri()
    assert adjoint.hub.load_state_dict_from_url(address, model_dir=tmp_path)["w"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="invalid hash value"):
        adjoint.hub.load_state_dict_from_url(address, model_dir=tmp_path, check_hash=True)


@pytest.mark.parametrize("ending", ["", "/", "/..", "/."])
def test_an_address_without_a_name(ending, tmp_path):
    with pytest.raises(ValueError, match="names no file; pass file_name"):
        adjoint.hub.load_state_dict_from_url(f"http://127.0.0.1:9{ending}", model_dir=tmp_path)

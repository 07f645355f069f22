import pytest

from app.main import create_app


@pytest.mark.skip(reason="needs a database")
def test_health_says_ok():
    client = create_app().test_client()
    assert client.get("/healthz").json == {"status": "ok"}

"""A stdio server that lists the definitions given as JSON, whatever they are: ``wire.py DEFINITIONS``."""

import json
import sys


def result_of(request, definitions):
    if request["method"] == "initialize":
        revision = request["params"]["protocolVersion"]
        server = {"name": "wire", "version": "1"}
        return {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": server}
    return {"tools": definitions} if request["method"] == "tools/list" else None


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = result_of(request, json.loads(sys.argv[1]))
        answer = {"error": {"code": -32601, "message": "?"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)


main()

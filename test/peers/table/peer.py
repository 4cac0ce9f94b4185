"""Prints the contents of a table as JSON, as Python's modules csv and json read it: peer.py csv|jsonl FILE."""
import csv
import json
import sys


def refuse(constant):
    raise ValueError(constant + " is not JSON")


with open(sys.argv[2], newline="", encoding="utf-8") as file:
    if sys.argv[1] == "csv":
        rows = list(csv.reader(file, strict=True))
    else:
        rows = [json.loads(line, parse_constant=refuse) for line in file.read().split("\n")[:-1]]
json.dump(rows, sys.stdout)

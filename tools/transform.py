"""Prints what CloudFormation would make of a SAM template, without asking AWS.

usage: transform.py TEMPLATE
"""
import json, sys

import boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

with open(sys.argv[1]) as file:
    template = yaml_parse(file.read())
template["Globals"]["Function"]["CodeUri"] = "s3://bucket/key"  # as sam package leaves it
session = boto3.Session(region_name="eu-west-1")
values = {name: p["Default"] for name, p in template["Parameters"].items() if "Default" in p}
json.dump(Translator({}, Parser(), boto_session=session).translate(template, parameter_values=values), sys.stdout, indent=1)

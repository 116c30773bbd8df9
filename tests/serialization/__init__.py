"""Tests of save and load: the files of both libraries, whole, damaged, malicious and half written."""

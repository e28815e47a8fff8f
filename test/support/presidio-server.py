"""Presidio's analyzer and anonymizer behind HTTP, as its containers serve them, without a language model: what patterns find."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import spacy
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.analyzer_request import AnalyzerRequest
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from presidio_anonymizer import AnonymizerEngine, RecognizerResult


class BlankEngine(SpacyNlpEngine):
    def __init__(self):
        super().__init__(models=[{"lang_code": "en", "model_name": "blank"}])
        self.nlp = {"en": spacy.blank("en")}

    def load(self):
        pass

    def is_loaded(self):
        return True


analyzer = AnalyzerEngine(nlp_engine=BlankEngine(), supported_languages=["en"])
anonymizer = AnonymizerEngine()


def analyze(body):
    request = AnalyzerRequest(body)
    found = analyzer.analyze(
        text=request.text, language=request.language, entities=request.entities, score_threshold=request.score_threshold
    )
    return [result.to_dict() for result in found]


def anonymize(body):
    results = [RecognizerResult.from_json(result) for result in body["analyzer_results"]]
    return json.loads(anonymizer.anonymize(text=body["text"], analyzer_results=results).to_json())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = json.dumps({"/analyze": analyze, "/anonymize": anonymize}[self.path](body)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1])
sys.stdout.flush()
server.serve_forever()

/**
 * Writes `build/test-groups/`, which is what `npm test` runs: programs that import many test files each. Starting a
 * process with the test runner and the gateway costs about 3 s of CPU, more than most test files need. What takes
 * longest starts first, so that both cores are busy to the end. One file is run by its own path:
 * `npm test -- build/test/http/app.test.js`. `npm run test:quick` runs the groups named `quick`: all files that are
 * pure, which start no gateway, server or process and open no store, but for the long ones.
 */

import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const build = join(root, 'build')
const tests = join(build, 'test')
const groups = join(build, 'test-groups')

/**
 * The slow files, in the order in which their groups start: a file belongs to the first group that has it. A group of
 * one file measures memory or time, or loads modules its own way.
 */
const slow = {
  guards: /^gateway\/(cached-answers|forbidden-text|media-stages|overlapping-stages|own-modules|reversible-masking|stages|text-places)/,
  gateway: /^gateway\/(?!small-heap|hostile-callers)/,
  process: /^process\//,
  package: /^package\//,
  'small-heap': /^gateway\/small-heap/,
  slices: /^text\/copy-string/,
  'long-rows': /^pipeline\/fused-stages\.test/,
  spans: /^telemetry\/(call-tracer|otlp-logs)/,
  ledger: /^cluster\/ledger/,
  'hostile-callers': /^gateway\/hostile-callers/,
  admin: /^pipelines\/admin\//,
  dashboard: /^dashboard\//,
  cli: /^cli\//,
  bench: /^bench\//,
  mcp: /^(mcp|clients)\//,
  ocr: /^pipelines\/ocr/,
  generators: /^pipelines\/chat-with-generators/,
  pipelines: /^pipelines\//,
  http: /^http\//,
  limits: /^limits\//,
  scaling: /^(scaling\/|support\/scaling)/,
  cluster: /^(cluster|examples)\//,
  stores: /^(accounts|deferred|stores|usage)\//
}

/** Pure files that take longer than the rest of `test:quick` is worth. */
const long = /^((accounts|embeddings|import|load|local|mcp|ocr)\/|config\/watch-settings|json\/\w+-in-slices|providers\/work|routing\/promise|validation\/(compile-check|fill-defaults)|wire\/openapi)/

/** What pure tests do not import: sockets, processes, stores, and what is assembled of everything. */
const impure = /^(node:(child_process|cluster|dgram|http|http2|https|net|tls|worker_threads)|undici|pg|lib\/(cli|gateway|process|public\/index|stores\/(open-database|sqlite\/open))\b.*|(bench|examples)\/.*)$/

/** Whether modules of the tests are pure, by path. */
const pure = new Map()

rmSync(groups, { recursive: true, force: true })
mkdirSync(groups)

const all = readdirSync(tests, { recursive: true }).filter(name => name.endsWith('.test.js')).sort()
const alone = ['scaling', 'slices', 'long-rows', 'spans'].map(name => slow[name])
const quick = all.filter(file => !alone.some(pattern => pattern.test(file)) && !long.test(file) && isPure(join(tests, file)))
let rest = all.filter(file => !quick.includes(file))
for (const [index, [name, pattern]] of Object.entries(slow).entries()) {
  write(`${String(index + 1).padStart(2, '0')}-${name}`, rest.filter(file => pattern.test(file)))
  rest = rest.filter(file => !pattern.test(file))
}
writeInParts('00-others', rest, 2)
writeInParts('quick', quick, 2)

function writeInParts (name, files, count) {
  for (let part = 0; part < count; part++) write(`${name}-${part + 1}`, files.filter((_, index) => index % count === part))
}

function write (name, files) {
  writeFileSync(join(groups, `${name}.test.js`), files.map(file => `import '../test/${file}'\n`).join(''))
}

/** Returns whether neither a module nor the modules of `test/` that it imports import what pure tests do not. */
function isPure (file) {
  if (!pure.has(file)) {
    pure.set(file, true) // for modules that import each other
    pure.set(file, importsOf(file).every(name => (
      !impure.test(name) && (!name.startsWith('test/') || isPure(join(build, name)))
    )))
  }
  return pure.get(file)
}

/** Lists what a module imports: packages by their names, ours by their paths in `build/`. */
function importsOf (file) {
  return [...readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?:.*? from )?'([^']+)';?$|\bimport\('([^']+)'\)/gm)]
    .map(([, name, later]) => name ?? later)
    .map(name => name.startsWith('.') ? relative(build, join(dirname(file), name)) : name)
}

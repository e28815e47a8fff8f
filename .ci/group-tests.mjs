/**
 * Writes `build/test-groups/`, which is what `npm test` runs: programs that import many test files each. Starting a
 * process with the test runner and the gateway costs about 2 s of CPU, more than most test files need. What takes
 * longest starts first, so that both cores are busy to the end. One file is run by its own path:
 * `npm test -- build/test/http/app.test.js`. `npm run test:quick` runs the rest, the groups named `quick`.
 */

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const tests = join(root, 'build/test')
const groups = join(root, 'build/test-groups')
const filesPerGroup = 60

/**
 * The slow files, in the order in which their groups start: a file belongs to the first group that has it. A group of
 * one file measures memory or time, or loads modules its own way.
 */
const slow = {
  'small-heap': /^gateway\/small-heap/,
  ledger: /^cluster\/ledger/,
  package: /^package\/package/,
  configuration: /^pipelines\/admin\/(call-bodies|configuration)/,
  admin: /^pipelines\/admin\//,
  'hostile-callers': /^gateway\/hostile-callers/,
  dashboard: /^dashboard\//,
  gateway: /^gateway\//,
  process: /^process\//,
  mcp: /^mcp\//,
  cli: /^cli\//,
  bench: /^bench\//,
  clients: /^clients\//,
  ocr: /^pipelines\/ocr/,
  generators: /^pipelines\/chat-with-generators/,
  pipelines: /^pipelines\//,
  http: /^http\//,
  limits: /^limits\//,
  bundle: /^package\/bundle/,
  examples: /^examples\//,
  adapters: /^scaling\/(adapters|dialects|google)/,
  scaling: /^scaling\//,
  cluster: /^cluster\//,
  stores: /^(accounts|deferred|stores)\//,
  threads: /^(async|client|embeddings|local|ocr)\//,
  service: /^(config|coordination|docs|keys|public|sandbox|support)\/|^setup/,
  long: /^json\/\w+-in-turns|^routing\/promise|^usage\/call-steps|^validation\/fill-defaults/
}

rmSync(groups, { recursive: true, force: true })
mkdirSync(groups)

let rest = readdirSync(tests, { recursive: true }).filter(name => name.endsWith('.test.js')).sort()
for (const [index, [name, pattern]] of Object.entries(slow).entries()) {
  write(`${String(index + 1).padStart(2, '0')}-${name}`, rest.filter(file => pattern.test(file)))
  rest = rest.filter(file => !pattern.test(file))
}
for (let start = 0; start < rest.length; start += filesPerGroup) {
  write(`quick-${String(1 + start / filesPerGroup).padStart(2, '0')}`, rest.slice(start, start + filesPerGroup))
}

function write (name, files) {
  writeFileSync(join(groups, `${name}.test.js`), files.map(file => `import '../test/${file}'\n`).join(''))
}

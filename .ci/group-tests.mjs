/**
 * Writes `build/test-groups/`, which is what `npm test` runs: programs that import the test files of a folder, twenty
 * at a time. Starting a process with the test runner and the gateway costs 0.5 to 2 s of CPU, more than most test
 * files need. One file is run by its own path: `npm test -- build/test/http/app.test.js`.
 */

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const tests = join(root, 'build/test')
const groups = join(root, 'build/test-groups')
const filesPerGroup = 20

/** Files that get a process each: they measure memory or time, take long, or load modules their own way. */
const alone = /^(bench|clients|cluster|package|scaling)\/|^gateway\/(hostile-callers|small-heap)|^pipelines\/(chat-with-generators|ocr)|^[^/]+$/

rmSync(groups, { recursive: true, force: true })
mkdirSync(groups)

const files = readdirSync(tests, { recursive: true }).filter(name => name.endsWith('.test.js')).sort()
const folders = {}
for (const file of files) {
  const folder = alone.test(file) ? file : file.slice(0, file.indexOf('/'))
  folders[folder] ??= []
  folders[folder].push(file)
}
for (const [folder, members] of Object.entries(folders)) {
  for (let start = 0; start < members.length; start += filesPerGroup) {
    const group = members.slice(start, start + filesPerGroup)
    const name = group.length === 1 ? group[0].replace('.test.js', '') : `${folder}/${1 + start / filesPerGroup}`
    const program = group.map(file => `import '../test/${file}'\n`).join('')
    writeFileSync(join(groups, `${name.replaceAll('/', '-')}.test.js`), program)
  }
}

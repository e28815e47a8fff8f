/**
 * Keeps every message that a caller or operator may see in one reviewed file. After a change:
 *
 *     npm run build && UPDATE_MESSAGES=1 npx tap --disable-coverage build/test/messages.test.js
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { codes } from '../lib/core/errors.ts'
import { collectMessages, messagesIn } from './support/collect-messages.ts'

const build = join(import.meta.dirname, '..')
const snapshot = join(build, '../test/messages.snapshot.txt')

const byFolder = new Map([
  ...collectMessages(join(build, '..'), ['.ci']),
  ...collectMessages(build, ['lib', 'pipelines', 'schemas'])
])
const ofCodes = new Set<string>(Object.values(codes).map(({ message }) => message))
const text =
  [
    '# Error codes',
    '',
    ...Object.entries(codes).map(([code, { status, message }]) => `${status} ${code}: ${message}`),
    ...[...byFolder].flatMap(([folder, messages]) => [
      '',
      `# ${folder}`,
      '',
      ...messages
        .filter(message => !ofCodes.has(message))
        .map(message => message.trim().replaceAll('\n', '\n    '))
    ])
  ].join('\n') + '\n'

t.test('every message is in the reviewed list', async t => {
  t.ok([...byFolder.values()].flat().length > 500, 'messages are found')
  if (process.env['UPDATE_MESSAGES'] === '1') writeFileSync(snapshot, text)
  const reviewed = new Set(readFileSync(snapshot, 'utf8').split('\n'))
  const now = new Set(text.split('\n'))
  t.strictSame([...now].filter(line => !reviewed.has(line)), [], 'not reviewed yet')
  t.strictSame([...reviewed].filter(line => !now.has(line)), [], 'no longer used')
})

t.test('every configuration entry that a message names exists', async t => {
  const reference = readFileSync(join(build, '../docs/configuration.md'), 'utf8')
  const entries = [...reference.matchAll(/^\| `(.+?)` \|/gm)].map(([, path = '']) =>
    path.replaceAll('[]', '').split('.')
  )
  const exists = (names: readonly string[]): boolean =>
    entries.some(entry =>
      names.every((name, index) => entry[index] === name || entry[index]?.startsWith('<'))
    )
  const sections = new Set(entries.map(([section]) => section))
  const named = [...byFolder.values()]
    .flat()
    .flatMap(message => [...message.matchAll(/`([a-z_]+(?:\.[a-z_]+)+)`/g)])
    .map(([, path = '']) => path.split('.'))
    .filter(([section]) => sections.has(section))
  t.ok(named.length > 40, `${named.length} are named`)
  t.strictSame(named.filter(names => !exists(names)).map(names => names.join('.')), [])
})

t.test(
  'messages in errors, logs and output are found; statements, frames and codes are ignored',
  async t => {
    t.strictSame(
      messagesIn(`
    throw new GatewayError('invalid_value', { message: \`\${name} is invalid.\` })
    throw new TypeError('aborted')
    options.log.warn({ code: 'other' }, 'reloaded')
    terminal.out(ok ? 'Ready.' : name + ' failed')
    process.stderr.write('stopped')
    run('select id from keys where id = ?', 'data: {"a": 1}', 'text/plain; charset=utf-8', 'plain', \`\${a} \${b}\`)
  `), ['${name} is invalid.', 'aborted', 'reloaded', 'Ready.', ' failed', 'stopped'])
})

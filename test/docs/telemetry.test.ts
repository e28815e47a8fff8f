/** Checks docs/telemetry.md against the code that creates spans, and against the tested packages. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { GuardFindings } from '../../lib/core/guard-findings.ts'
import { callSpans } from '../../lib/telemetry/call-spans.ts'
import { route } from '../support/routes.ts'
import { fillRecord } from '../support/fill-record.ts'

const root = join(import.meta.dirname, '../../..')
const page = readFileSync(join(root, 'docs/telemetry.md'), 'utf8')

const findings = new GuardFindings()
findings.noteInspection('pii', 'request', 1)
const record = fillRecord(new CallRecord('chat'), {
  routing: { attempts: [
    {
      route: route('one/a'),
      startedAtMs: 1,
      outcomeAtMs: 2,
      endedAtMs: 3,
      reason: undefined,
      status: undefined
    }
  ] },
  tools: { listings: [
    { serverName: 'a/b', startedAtMs: 6, endedAtMs: 7, outcome: 'ok' as const, span: undefined }
  ], runs: [{ serverName: 'a/b', toolName: 'echo', startedAtMs: 4, endedAtMs: 5, outcome: 'ok' as const }] },
  guards: { findings }
})
const call = { id: '', headers: {}, record, receivedAtMs: 0 }
const { server, children } = callSpans(call, undefined, 9, () => 'openai')
const [request, tool, listing] = children
const guard = children.find(({ kind }) => kind === 'internal')

for (const [title, span] of [
  ['call', server],
  ['attempt', request],
  ['tool', tool],
  ['listing', listing],
  ['guard', guard]
] as const) {
  t.test(`all span attributes of a ${title} are documented, and no others`, async t => {
    const rows = page.matchAll(new RegExp(`^\\| ${title}(?:: \\w+)? \\| (.*) \\|$`, 'gm'))
    const names = (text: string): string[] =>
      [...text.matchAll(/`([a-z_.-]+)`/g)]
        .map(([, name = '']) => name)
        .filter(name => !['x-request-id', 'execute_tool'].includes(name))
    const described = [...rows].flatMap(([, cell = '']) => {
      const [plain = '', own = ''] = cell.split('as `headgate.…`:')
      return [...names(plain), ...names(own).map(name => `headgate.${name}`)]
    })
    t.same(described.toSorted(), Object.keys(span?.attributes ?? {}).toSorted())
  })
}

t.test('the page installs each required package, in the tested versions', async t => {
  const { peerDependencies, devDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8')
  ) as Record<string, Record<string, string>>
  const named = [...page.matchAll(/(@opentelemetry\/[\w-]+)@([\d.]+)/g)].map(
    ([, name = '', version = '']) => [name, version] as const
  )
  t.same(
    named.map(([name]) => name).toSorted(),
    Object.keys(peerDependencies ?? {})
      .filter(name => name.startsWith('@opentelemetry/'))
      .toSorted()
  )
  for (const [name, version] of named) t.ok(devDependencies?.[name]?.startsWith(`${version}.`), name)
})

import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { configuredGuards } from '../../lib/guards/configured-guards.ts'
import { inspects } from '../../lib/guards/guard-scope.ts'
import { replaceFindings } from '../../lib/guards/text-filter.ts'
import { routedCall } from '../support/stages.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { GuardPoint } from '../../schemas/config/guards.ts'

const all: GuardPoint[] = ['request', 'answer', 'tool_call', 'tool_result']
const ticket = { name: 'ticket', match: 'T-\\d+', maxLength: 6 }
const base: GuardSettings = { name: 'tickets', use: 'pattern', at: all, patterns: [ticket], action: 'mask' }

function masked (
  stages: readonly GuardSettings[],
  text: string,
  points: readonly GuardPoint[] = ['request'],
  key: ApiKey = { id: 'key-1', name: 'test' }
): string {
  const call = routedCall({}, { key, record: new CallRecord('chat') })
  return configuredGuards([...stages]).layers.reduce((left, layer) => {
    const filter = layer.kind === 'filters' ? layer.filter(call, points) : undefined
    return filter === undefined ? left : replaceFindings(filter, left)
  }, text)
}

t.test('guards inspect the texts of their points, and adjacent ones run together', t => {
  const mail: GuardSettings = { ...base, name: 'mail', at: ['answer'], patterns: ['email'] }
  t.equal(masked([base, mail], 'T-1 a@b.co'), '[ticket] a@b.co')
  t.equal(masked([base, mail], 'T-1 a@b.co', ['answer']), '[ticket] [email]')
  t.equal(masked([mail], 'a@b.co', ['request', 'tool_result']), 'a@b.co')
  t.equal(masked([{ ...base, at: ['tool_result'] }], 'T-1', ['request', 'tool_result']), '[ticket]')
  t.end()
})

t.test('a masking guard hides nothing from a refusing guard before it', t => {
  const refusing: GuardSettings = { ...base, name: 'no-tickets', action: 'refuse' }
  const masking: GuardSettings = { ...base, patterns: [{ name: 'words', match: 'see T-', maxLength: 6 }] }
  const counting: GuardSettings = { ...base, name: 'count', action: 'report' }
  for (const stages of [[refusing, masking], [refusing, counting, masking]]) {
    t.throws(() => masked(stages, 'see T-1'), { code: 'content_refused' })
    t.equal(masked(stages, 'see T-'), '[words]')
  }
  t.equal(masked([masking, refusing], 'see T-1'), '[words]1', 'one after it gets the masked text')
  t.end()
})

t.test('`only` selects the calls of a guard, and every condition must hold', t => {
  const key: ApiKey = { id: 'key-1', name: 'test', project: { id: 'p1', name: 'support' } }
  const rows: ReadonlyArray<readonly [only: NonNullable<GuardSettings['only']>, inspects: boolean]> = [
    [{ endpoints: ['chat'] }, true],
    [{ endpoints: ['messages'] }, false],
    [{ keys: ['test'] }, true],
    [{ keys: ['key-1'] }, true],
    [{ keys: ['x'] }, false],
    [{ projects: ['support'] }, true],
    [{ projects: ['p1'] }, true],
    [{ projects: ['default'] }, false],
    [{ models: ['one/m'] }, true],
    [{ models: ['one/*'] }, true],
    [{ models: ['*'] }, true],
    [{ models: ['two/*', 'on/*'] }, false],
    [{ endpoints: ['chat'], models: ['two/*'] }, false]
  ]
  for (const [only, inspects] of rows) {
    t.equal(
      masked([{ ...base, only }], 'T-1', ['request'], key),
      inspects ? '[ticket]' : 'T-1',
      JSON.stringify(only)
    )
  }
  t.equal(
    masked([{ ...base, only: { projects: ['default'] } }], 'T-1'),
    '[ticket]',
    'a key without a project is in the default project'
  )
  t.end()
})

t.test('a guard for a model also inspects calls to a variant of it', t => {
  const stage = { ...base, only: { models: ['one/m'] } }
  const route = { providerId: 'one', model: 'm-2030-01-31', modelId: 'one/m-2030-01-31' }
  const inspected = (variantOf?: string): boolean =>
    inspects(stage, routedCall({}, {
      record: new CallRecord('chat'),
      routes: [{ ...route, ...variantOf !== undefined && { variantOf } }]
    }))
  t.same([inspected(), inspected('one/other'), inspected('one/m')], [false, false, true])
  t.end()
})

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { openModule } from '../../lib/judges/own-module.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { routedCall } from '../support/stages.ts'
import type { OpenWork } from '../../lib/judges/judge-input.ts'
import type { Judge, TextAtPoint, Verdict } from '../../lib/guards/text-judge.ts'
import type { Test } from 'tap'

async function opened (
  t: Test,
  code: string,
  options?: Readonly<Record<string, unknown>>,
  openWork: OpenWork = new Map()
): Promise<Judge> {
  const directory = t.testdir({ 'stage.mjs': code })
  const settings = {
    name: 'mine',
    use: join(directory, 'stage.mjs'),
    at: ['request'] as const,
    ...options !== undefined && { options }
  }
  return await openModule(settings, openWork)
}

async function inspect (judge: Judge, texts: readonly TextAtPoint[]): Promise<Verdict> {
  return await judge.inspect(texts, {
    call: routedCall({}, { id: 'call-1' }),
    signal: new AbortController().signal
  })
}

t.test('each function gets the texts of its point and the facts of the call', async t => {
  const judge = await opened(t, `export default {
    request: (texts, { id, endpoint, key, project, models, signal }) => texts.map(text => [text, id, endpoint, key.id, project, models, signal.aborted].join()),
    tool_result: async texts => texts.map(text => text.toUpperCase()),
    answer: () => {}
  }`)
  t.same(judge.points, ['request', 'answer', 'tool_result'])
  const { texts } = await inspect(judge, [
    { text: 'a', point: 'tool_result' },
    { text: 'b', point: 'request' },
    { text: 'c', point: 'tool_result' },
    { text: 'd', point: 'answer' }
  ])
  t.match(texts, ['A', /^b,call-1,chat,[^,]+,default,.*false$/, 'C', 'd'])
})

t.test('a refusal has a reason', async t => {
  t.same(
    await inspect(await opened(t, 'export default { request: () => ({ refuse: "no" }) }'), [
      { text: 'a', point: 'request' }
    ]),
    { refusal: 'no' }
  )
})

t.test('an invalid verdict is an error', async t => {
  for (const verdict of ['[]', '["a", "b"]', '"a"', '{}', 'null']) {
    await t.rejects(
      inspect(await opened(t, `export default { request: () => (${verdict}) }`), [
        { text: 'a', point: 'request' }
      ]),
      TypeError,
      verdict
    )
  }
})

t.test('a function creates the guard from its options, which its schema checks', async t => {
  const code = `export const optionsSchema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'], additionalProperties: false }
    export default async ({ word }) => ({ request: texts => texts.map(() => word) })`
  t.same(await inspect(await opened(t, code, { word: 'x' }), [{ text: 'a', point: 'request' }]), {
    texts: ['x']
  })
  await t.rejects(opened(t, code, { word: 1 }), { message: 'options/word must be string' })
  await t.rejects(opened(t, code), { message: "options must have required property 'word'" })
  await t.rejects(opened(t, 'export const optionsSchema = 1; export default { request () {} }'), TypeError)
})

t.test('a module that exports no guard is refused', async t => {
  await t.rejects(opened(t, 'export const request = 1'), { message: /default export must be a guard/ })
  await t.rejects(opened(t, 'export default {}'), {
    message: /at least one of request, answer, tool_call, tool_result, requestStage, answerStage/
  })
  await t.rejects(opened(t, 'export default { answer: 1 }'), {
    message: '`answer` of its guard must be a function'
  })
  await t.rejects(opened(t, 'export default () => { throw new Error("broken") }'), { message: 'broken' })
  await t.rejects(opened(t, 'not JavaScript'), SyntaxError)
  const directory = t.testdir({ 'folder.js': {} })
  execFileSync('mkfifo', [join(directory, 'pipe.js')])
  for (const [name, code] of [
    ['gone.js', 'ENOENT'], ['folder.js', 'EISDIR'], ['pipe.js', 'not a regular file']
  ] as const) {
    const settings = { name: 'mine', use: join(directory, name), at: ['request'] as const }
    await t.rejects(openModule(settings, new Map()), { code }, name)
  }
})

t.test('open calls of a module are counted until they end', async t => {
  const openWork: OpenWork = new Map()
  const judge = await opened(
    t,
    `export default {
      request: (texts, { signal }) => new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
      }),
      requestStage: async function * (source) { for await (const call of source) yield call }
    }`,
    undefined,
    openWork
  )
  const leaving = new AbortController()
  const call = routedCall({})
  const inspections = [1, 2].map(async () =>
    await judge.inspect([{ text: 'a', point: 'request' }], { call, signal: leaving.signal })
  )
  t.same([...openWork], [['mine', 2]])
  leaving.abort()
  await Promise.all(inspections.map(async one => await t.rejects(one, { message: 'aborted' })))
  t.equal(openWork.size, 0)
  const calls = judge.stages?.request?.(once(call))[Symbol.asyncIterator]()
  t.equal(openWork.size, 0, 'nobody has read from it')
  t.equal((await calls?.next())?.value, call)
  t.same([...openWork], [['mine', 1]])
  await calls?.return?.()
  t.equal(openWork.size, 0)
})

t.test('a changed module is loaded anew, and the old guard is closed', async t => {
  const directory = t.testdir({ 'stage.mjs': 'export default { request: texts => texts.map(() => "one") }' })
  const use = join(directory, 'stage.mjs')
  const open = async (): Promise<Judge> =>
    await openModule({ name: 'mine', use, at: ['request'] }, new Map())
  t.same(await inspect(await open(), [{ text: 'a', point: 'request' }]), { texts: ['one'] })
  await writeFile(
    use,
    'let open = 1\nexport default { request: texts => texts.map(() => `two ${open}`), close: () => { open-- } }'
  )
  const judge = await open()
  await judge.close?.()
  t.same(await inspect(judge, [{ text: 'a', point: 'request' }]), { texts: ['two 0'] })
})

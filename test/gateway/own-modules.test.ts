/**
 * Custom modules and services as guards: in every dialect, with providers of every protocol, and around
 * tools.
 */

import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import t from 'tap'
import {
  dialects,
  holdsWord,
  messagesIn,
  protocols,
  scriptOf,
  takenBy,
  type Json
} from '../support/conversations.ts'
import { chatUpstreamAt, testGateway, type TestGateway } from '../support/gateway.ts'
import { chatAnswer, eventStream, fakeUpstream, toolCallAnswer } from '../support/upstream.ts'
import { settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { until } from '../support/until.ts'
import { word } from '../support/word-stages.ts'
import type { GuardSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const mask = `const mask = texts => texts.map(text => text.replaceAll('${word}', '[island]'))`
const masking = `${mask}\nexport default { request: mask, answer: mask, tool_call: mask, tool_result: mask }`
const refusing = `const refuse = texts => texts.some(text => text.includes('${word}')) ? { refuse: 'it names an island' } : undefined
export default { request: refuse, answer: refuse }`

function stageOf (t: Test, code: string, more: Partial<GuardSettings> = {}): GuardSettings {
  return {
    name: 'mine',
    use: join(t.testdir({ 'stage.mjs': code }), 'stage.mjs'),
    at: ['request', 'answer', 'tool_call', 'tool_result'],
    ...more
  }
}

/** Answers in Headgate's format like the modules above. */
async function webhookOf (t: Test, answer: (texts: readonly string[]) => object): Promise<GuardSettings> {
  const service = await fakeUpstream(({ json }) => {
    const { texts } = json as { texts: ReadonlyArray<{ text: string }> }
    return {
      headers: { 'content-type': 'application/json' },
      pieces: [JSON.stringify(answer(texts.map(({ text }) => text)))]
    }
  })
  t.teardown(service.close)
  return {
    name: 'mine',
    use: 'webhook',
    url: service.url,
    at: ['request', 'answer', 'tool_call', 'tool_result']
  }
}

const kinds: Readonly<
  Record<
    string,
    {
      masks: (t: Test) => GuardSettings | Promise<GuardSettings>
      refuses: (t: Test) => GuardSettings | Promise<GuardSettings>
    }
  >
> = {
  module: { masks: t => stageOf(t, masking), refuses: t => stageOf(t, refusing) },
  webhook: {
    masks: async t =>
      await webhookOf(t, texts => ({ texts: texts.map(text => text.replaceAll(word, '[island]')) })),
    refuses: async t => ({
      ...(await webhookOf(t, texts =>
        texts.some(text => text.includes(word)) ? { refuse: 'it names an island' } : {}
      )),
      at: ['request', 'answer']
    })
  }
}

function lastLine (api: TestGateway): { findings?: readonly Json[] } | undefined {
  return api.lines.findLast(({ msg }) => msg === 'call')
}

for (const [kind, { masks, refuses }] of Object.entries(kinds)) {
  for (const [name, protocol] of Object.entries(protocols)) {
    t.test(`text masked by a ${kind} appears nowhere, in any dialect with ${name}`, async t => {
      const upstream = await fakeUpstream(scriptOf(protocol))
      t.teardown(upstream.close)
      const api = await testGateway(t, {
        providers: [protocol.provider(upstream.url)],
        guards: [{ ...(await masks(t)), window: { characters: 10, overlap: 20, maxWaitMs: 60_000 } }]
      })
      for (const [dialectName, { path, request, textsOf }] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const title = `${dialectName} ${stream ? 'streamed' : 'complete'}`
          const response = await api.post(path, {
            ...takenBy(protocol, request(protocol.model, word)),
            stream
          })
          const body = await response.text()
          t.equal(response.status, 200, `${title}: ${body.slice(0, 300)}`)
          for (const text of [
            upstream.requests.at(-1)?.text ?? word,
            body,
            ...textsOf(stream ? messagesIn(body) : [JSON.parse(body) as Json])
          ]) {
            t.notOk(holdsWord(text), title)
          }
          t.ok(body.includes('[island]'), `${title}: masked`)
          t.match(
            lastLine(api)?.findings?.filter(({ point }) => point === 'request' || point === 'answer'),
            [
              { point: 'request', action: 'mask' },
              { point: 'answer', action: 'mask' }
            ],
            title
          )
        }
      }
    })

    t.test(
      `a ${kind} refuses requests before they are sent, and answers before they are returned, in any dialect with ${name}`,
      async t => {
        const upstream = await fakeUpstream(scriptOf(protocol))
        t.teardown(upstream.close)
        const api = await testGateway(t, {
          providers: [protocol.provider(upstream.url)],
          guards: [await refuses(t)]
        })
        for (const [dialectName, { path, request }] of Object.entries(dialects)) {
          for (const stream of [false, true]) {
            for (const here of [word, 'there']) {
              const title = `${dialectName} ${stream ? 'streamed' : 'complete'} ${here}`
              const before = upstream.requests.length
              const response = await api.post(path, {
                ...takenBy(protocol, request(protocol.model, here)),
                stream
              })
              const body = await response.text()
              t.equal(response.status, 400, `${title}: ${body.slice(0, 300)}`)
              t.match(body, /The guard `mine` refused this call: it names an island\./, title)
              t.notOk(holdsWord(body), title)
              t.equal(upstream.requests.length, before + (here === word ? 0 : 1), title)
            }
          }
        }
      }
    )
  }
}

t.test('a streamed answer is passed on window by window, and ends where the module refuses', async t => {
  const protocol = protocols.chat
  const begins = protocol.frames.findIndex(frame => frame.includes('I went to Z'))
  const filler = protocol.frames[begins]?.replace('I went to Z', 'It is warm. '.repeat(20)) ?? ''
  let goOn = (): void => undefined
  const upstream = await fakeUpstream(() => {
    const begun = new Promise<void>(resolve => {
      goOn = resolve
    })
    return {
      headers: eventStream,
      pieces: (async function* () {
        yield* [protocol.frames[0] ?? '', filler, filler]
        await begun
        yield* protocol.frames.slice(begins)
      })()
    }
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [protocol.provider(upstream.url)],
    guards: [
      stageOf(t, refusing, { at: ['answer'], window: { characters: 50, overlap: 20, maxWaitMs: 60_000 } })
    ]
  })
  const response = await api.post(dialects.chat.path, {
    ...dialects.chat.request(protocol.model, 'there'),
    stream: true
  })
  t.equal(response.status, 200)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let body = ''
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    body += decoder.decode(read.value, { stream: true })
    if (body.includes('It is warm.')) goOn()
  }
  t.match(
    body,
    /"finish_reason":"content_filter"[^\n]*\n\nevent: error\ndata: \{"error":\{[^\n]*"code":"content_refused"[^\n]*\n\n$/
  )
  t.notOk(holdsWord(body))
})

t.test(
  'text waits at most `max_wait_ms`, and an answer does not end at a guard that only reports',
  async t => {
    const protocol = protocols.chat
    const begins = protocol.frames.findIndex(frame => frame.includes('I went to Z'))
    const filler = protocol.frames[begins]?.replace('I went to Z', 'It is warm. '.repeat(5)) ?? ''
    for (const action of ['mask', 'report'] as const) {
      let goOn = (): void => undefined
      const upstream = await fakeUpstream(() => {
        const seen = new Promise<void>(resolve => {
          goOn = resolve
        })
        return {
          headers: eventStream,
          pieces: (async function* () {
            yield* [protocol.frames[0] ?? '', filler, filler]
            await seen
            yield* protocol.frames.slice(begins)
          })()
        }
      })
      t.teardown(upstream.close)
      const api = await testGateway(t, {
        providers: [protocol.provider(upstream.url)],
        guards: [
          stageOf(t, masking, {
            at: ['answer'],
            action,
            window: { characters: 100_000, overlap: 20, maxWaitMs: 20 }
          })
        ]
      })
      const response = await api.post(dialects.chat.path, {
        ...dialects.chat.request(protocol.model, 'there'),
        stream: true
      })
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      const decoder = new TextDecoder()
      let body = ''
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        body += decoder.decode(read.value, { stream: true })
        if (body.includes('It is warm.')) goOn()
      }
      t.match(body, /data: \[DONE\]\n\n$/)
      t.equal(
        dialects.chat.textsOf(messagesIn(body)).some(text => holdsWord(text)),
        action === 'report'
      )
      t.match(lastLine(api)?.findings, [{ stage: 'mine', point: 'answer', action }])
    }
  }
)

t.test('an exception in a module ends its call, or lets it pass, as configured', async t => {
  const upstream = await fakeUpstream(scriptOf(protocols.chat))
  t.teardown(upstream.close)
  const throwing = 'export default { request: () => { throw new Error("secret words of the module") } }'
  for (const whenUnavailable of ['refuse', 'pass'] as const) {
    const api = await testGateway(t, {
      providers: [chatUpstreamAt(upstream.url)],
      guards: [stageOf(t, throwing, { whenUnavailable })]
    })
    const response = await api.post('/v1/chat/completions', {
      model: 'openai/m',
      messages: [{ role: 'user', content: 'Hello' }]
    })
    const body = await response.text()
    t.equal(response.status, whenUnavailable === 'pass' ? 200 : 503)
    t.notOk(body.includes('secret words'))
    t.match(lastLine(api)?.findings, [{ stage: 'mine', point: 'request', action: 'unavailable', count: 1 }])
    t.match(
      api.lines.find(({ msg }) => msg === 'a guard was unavailable for a call'),
      { level: 'warn', stage: 'mine', cause: { message: 'secret words of the module' } }
    )
  }
})

t.test('a module that never answers times out and ends its call', async t => {
  const upstream = await fakeUpstream(scriptOf(protocols.chat))
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [chatUpstreamAt(upstream.url)],
    guards: [stageOf(t, 'export default { request: () => new Promise(() => {}) }', { timeoutMs: 30 })]
  })
  const response = await api.post('/v1/chat/completions', {
    model: 'openai/m',
    messages: [{ role: 'user', content: 'Hello' }]
  })
  t.match(await response.json(), { error: { code: 'stage_unavailable' } })
  t.equal(upstream.requests.length, 0)
})

t.test('a call and the events of its answer pass through the stages of a module', async t => {
  const upstream = await fakeUpstream(scriptOf(protocols.chat))
  t.teardown(upstream.close)
  const code = `export default {
    requestStage: async function * (source) { for await (const call of source) { call.request = { ...call.request, temperature: 0.5 }; yield call } },
    answerStage: async function * (source) {
      for await (const batch of source) yield { ...batch, events: batch.events.map(event => event.type === 'text-delta' ? { ...event, text: event.text.toUpperCase() } : event) }
    }
  }`
  const api = await testGateway(t, { providers: [chatUpstreamAt(upstream.url)], guards: [stageOf(t, code)] })
  for (const stream of [false, true]) {
    const body = await (
      await api.post('/v1/chat/completions', {
        model: 'openai/m',
        messages: [{ role: 'user', content: 'Hello' }],
        stream
      })
    ).text()
    t.match(body, /IBAR\. ZANZIBAR IS WARM/)
    t.match(upstream.requests.at(-1)?.json, { temperature: 0.5 })
  }
})

t.test(
  'a server tool gets the arguments that a module leaves, and the model the result that is left',
  async t => {
    const tools = await startToolServer(t)
    const upstream = await fakeUpstream((_request, number) => ({
      pieces: [number === 0 ? toolCallAnswer('echo', { text: `in ${word}` }) : chatAnswer('done')]
    }))
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [chatUpstreamAt(upstream.url)],
      tools: { ...settings().tools, allowedHosts: ['127.0.0.1'] },
      guards: [stageOf(t, masking)]
    })
    const response = await api.post('/v1/chat/completions', {
      model: 'openai/m',
      messages: [{ role: 'user', content: 'Hello' }],
      mcp_servers: [tools.url]
    })
    const body = await response.text()
    t.equal(response.status, 200, body)
    t.notOk(holdsWord(upstream.requests.map(({ text }) => text).join()))
    t.match(upstream.requests[1]?.text, /\[island\]/)
    t.notOk(holdsWord(body))
  }
)

t.test(
  'after a reload a changed module is used for the next call, and a failing one changes nothing',
  async t => {
    const upstream = await fakeUpstream(scriptOf(protocols.chat))
    t.teardown(upstream.close)
    const stage = stageOf(t, 'export default { request: () => ({ refuse: "one" }) }')
    const parts = { providers: [chatUpstreamAt(upstream.url)], guards: [stage] }
    const api = await testGateway(t, parts)
    const answered = async (): Promise<string> =>
      await (
        await api.post('/v1/chat/completions', {
          model: 'openai/m',
          messages: [{ role: 'user', content: 'Hello' }]
        })
      ).text()
    t.match(await answered(), /refused this call: one\./)
    await writeFile(stage.use, 'export default { request: () => ({ refuse: "two, which is longer" }) }')
    await api.gateway.reload(settings(parts))
    t.match(await answered(), /refused this call: two, which is longer\./)
    await writeFile(stage.use, 'export default 5 // no guard')
    await t.rejects(api.gateway.reload(settings(parts)), {
      message: /stages\.mine {2}cannot be used: .*default export/
    })
    t.match(await answered(), /refused this call: two, which is longer\./)
  }
)

t.test('guards can be replaced under load: each call passes all guards of one configuration', async t => {
  const upstream = await fakeUpstream(scriptOf(protocols.chat))
  t.teardown(upstream.close)
  const directory = t.testdir()
  const module = async (name: string, code: string): Promise<GuardSettings> => {
    await writeFile(join(directory, name), code)
    return { name: name.slice(2, -4), use: join(directory, name), at: ['request', 'answer'] }
  }
  const parts = async (version: number): Promise<Partial<Settings>> => ({
    providers: [chatUpstreamAt(upstream.url)],
    guards: [
      await module(
        `${version}-first.mjs`,
        `export default { request: async texts => texts.map(text => text.includes('${word}') ? text + ' ${version}' : text) }`
      ),
      {
        name: 'between',
        use: 'pattern',
        at: ['request'],
        action: 'mask',
        patterns: [{ name: 'island', match: word, maxLength: 8 }]
      },
      await module(
        `${version}-last.mjs`,
        `export default { request: async texts => texts.map(text => text.includes('[island]') ? text + ' ${version}' : text), answer: async texts => texts.map(text => text.replaceAll('${word}', '[${version}]')) }`
      )
    ]
  })
  const api = await testGateway(t, await parts(0))
  const over = new AbortController()
  const versions = new Set<string>()
  const callers = Array.from({ length: 6 }, async (_, caller) => {
    for (let call = 0; !over.signal.aborted && call < 500; call++) {
      const response = await api.post('/v1/chat/completions', {
        model: 'openai/m',
        messages: [{ role: 'user', content: `${caller}-${call} ${word}` }],
        stream: call % 2 > 0
      })
      const text = await response.text()
      if (response.status !== 200 || holdsWord(text)) {
        t.fail(`${caller}-${call}: ${response.status} ${text.slice(0, 300)}`)
      }
      versions.add(/\[(\d)\]/.exec(text)?.[1] ?? 'none')
    }
  })
  for (let version = 1; version < 6; version++) {
    const before = upstream.requests.length
    await until(() => upstream.requests.length > before + 10, 'calls between two reloads')
    await api.gateway.reload(settings(await parts(version)))
  }
  over.abort()
  await Promise.all(callers)
  for (const { text } of upstream.requests) {
    const [, first, last] = /\[island\] (\d) (\d)/.exec(text) ?? []
    if (first === undefined || first !== last) {
      t.fail(`a call passed the guards of two configurations: ${text.slice(0, 300)}`)
    }
  }
  t.ok(upstream.requests.length > 50)
  t.ok(versions.size > 2 && !versions.has('none'), [...versions].join())
})

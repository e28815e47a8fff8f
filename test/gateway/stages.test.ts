/**
 * Configured guards, in every dialect, with providers of every protocol, for complete and streamed answers.
 */

import t from 'tap'
import {
  dialects,
  holdsWord,
  messagesIn,
  protocols,
  scriptOf,
  takenBy,
  type Json,
  type Protocol
} from '../support/conversations.ts'
import { chatUpstreamAt, testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import {
  chatAnswer, eventStream, fakeUpstream, toolCallAnswer, type FakeUpstream
} from '../support/upstream.ts'
import { settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { until } from '../support/until.ts'
import { word } from '../support/word-stages.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const island: GuardSettings = {
  name: 'islands',
  use: 'pattern',
  at: ['request', 'answer', 'tool_call', 'tool_result'],
  action: 'mask',
  patterns: [{ name: 'island', match: 'Z[a-z]{6}r', maxLength: 8 }]
}

async function start (
  t: Test,
  protocol: Protocol,
  stages: readonly GuardSettings[]
): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(scriptOf(protocol))
  t.teardown(upstream.close)
  return {
    upstream,
    api: await testGateway(t, { providers: [protocol.provider(upstream.url)], guards: [...stages] })
  }
}

for (const [name, protocol] of Object.entries(protocols)) {
  t.test(
    `masked text appears nowhere, and the log says what was found, in any dialect with ${name}`,
    async t => {
      const { upstream, api } = await start(t, protocol, [island])
      for (const [dialectName, { path, request, textsOf }] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const title = `${dialectName} ${stream ? 'streamed' : 'complete'}`
          const response = await api.post(path, {
            ...takenBy(protocol, request(protocol.model, word)),
            stream
          })
          const body = await response.text()
          t.equal(response.status, 200, `${title}: ${body.slice(0, 300)}`)
          const texts = [
            upstream.requests.at(-1)?.text ?? word,
            body,
            ...textsOf(stream ? messagesIn(body) : [JSON.parse(body) as Json])
          ]
          for (const text of texts) t.notOk(holdsWord(text), title)
          t.ok(body.includes('[island]'), `${title}: masked`)
          const line = api.lines.findLast(({ msg }) => msg === 'call') as
            { findings?: readonly Json[] } | undefined
          t.match(
            line?.findings?.filter(({ point }) => point === 'request' || point === 'answer'),
            [
              { stage: 'islands', point: 'request', action: 'mask' },
              { stage: 'islands', point: 'answer', action: 'mask' }
            ],
            title
          )
          t.notOk(holdsWord(JSON.stringify(line)), `${title}: not in the log`)
        }
      }
    }
  )

  t.test(
    `a request is refused before it is sent, and an answer before it is returned, in any dialect with ${name}`,
    async t => {
      const requests = await start(t, protocol, [{ ...island, at: ['request'], action: 'refuse' }])
      const answers = await start(t, protocol, [{ ...island, at: ['answer'], action: 'refuse' }])
      for (const [dialectName, { path, request }] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const title = `${dialectName} ${stream ? 'streamed' : 'complete'}`
          for (const [here, { api }] of [
            [word, requests],
            ['there', answers]
          ] as const) {
            const response = await api.post(path, {
              ...takenBy(protocol, request(protocol.model, here)),
              stream
            })
            const body = await response.text()
            t.equal(response.status, 400, `${title}: ${body.slice(0, 300)}`)
            t.match(body, /The guard `islands` refused this call: it contains island\./, title)
            t.notOk(holdsWord(body), title)
          }
        }
      }
      t.equal(requests.upstream.requests.length, 0)
    }
  )
}

/** Stages that refuse an answer in the middle. */
const refusing: Readonly<Record<string, (t: Test) => GuardSettings | Promise<GuardSettings>>> = {
  pattern: () => ({
    ...island,
    at: ['answer'],
    action: 'refuse',
    patterns: [{ name: 'island', match: 'Zanzibar\\. Zan', maxLength: 8 }]
  }),
  webhook: async t => {
    const service = await fakeUpstream(({ text }) => ({
      pieces: [JSON.stringify(text.includes('Zanzibar. Zan') ? { refuse: 'it contains island' } : {})]
    }))
    t.teardown(service.close)
    return {
      name: 'islands',
      use: 'webhook',
      url: service.url,
      at: ['answer'],
      action: 'refuse',
      window: { characters: 10, overlap: 20, maxWaitMs: 60_000 }
    }
  }
}

for (const [kind, stageOf] of Object.entries(refusing)) {
  t.test(
    `an answer refused by a ${kind} midway ends like filtered content, with an error and nothing after it`,
    async t => {
      const long = 'It is warm there. '.repeat(4)
      const ends: Readonly<Record<keyof typeof dialects, RegExp>> = {
        chat: /"finish_reason":"content_filter"[^\n]*\n\nevent: error\ndata: \{"error":\{[^\n]*"code":"content_refused"[^\n]*\n\n$/,
        completions:
          /"finish_reason":"content_filter"[^\n]*\n\nevent: error\ndata: \{"error":\{[^\n]*"code":"content_refused"[^\n]*\n\n$/,
        messages:
          /event: message_delta\ndata: \{[^\n]*"stop_reason":"refusal"[^\n]*\n\nevent: error\ndata: \{[^\n]*"error_code":"content_refused"[^\n]*\n\n$/,
        responses:
          /event: response\.failed\ndata: \{[^\n]*"incomplete_details":\{"reason":"content_filter"\}[^\n]*\n\ndata: \[DONE\]\n\n$/
      }
      const stage = await stageOf(t)
      for (const [name, protocol] of Object.entries(protocols)) {
        const begins = protocol.frames.findIndex(frame => frame.includes('I went to Z'))
        const filler = protocol.frames[begins]?.replace('I went to Z', long) ?? ''
        let goOn = (): void => undefined
        const upstream = await fakeUpstream(() => {
          const begun = new Promise<void>(resolve => {
            goOn = resolve
          })
          return {
            headers: eventStream,
            pieces: (async function* () {
              yield* [...protocol.frames.slice(0, begins), filler, filler]
              await begun
              yield* protocol.frames.slice(begins)
            })()
          }
        })
        t.teardown(upstream.close)
        const api = await testGateway(t, { providers: [protocol.provider(upstream.url)], guards: [stage] })
        let calls = 0
        for (const [dialectName, { path, request, textsOf }] of Object.entries(dialects)) {
          const title = `${dialectName} in front of ${name}`
          const response = await api.post(path, {
            ...takenBy(protocol, request(protocol.model, 'there')),
            stream: true
          })
          goOn()
          const body = await response.text()
          t.equal(response.status, 200, `${title}: ${body}`)
          t.ok(
            textsOf(messagesIn(body)).some(text => text.startsWith('It is warm there.')),
            `${title}: what is decided goes out`
          )
          t.match(body, ends[dialectName as keyof typeof dialects], title) // its own key
          t.notMatch(body, /I went to/, title)
          calls++
          const lines = (): Json[] => api.lines.filter(({ msg }) => msg === 'call')
          await until(() => lines().length === calls, `${title}: the line of the call`)
          const { error, usage } = lines().at(-1) as { error?: string, usage?: { completion: number } }
          t.equal(error, 'content_refused', title)
          t.ok((usage?.completion ?? 0) > 0, `${title}: its tokens are recorded`)
        }
      }
    }
  )
}

t.test('reporting changes nothing', async t => {
  const protocol = protocols.anthropic
  const { upstream, api } = await start(t, protocol, [{ ...island, action: 'report' }])
  const { path, request } = dialects.messages
  const body = JSON.stringify(request(protocol.model, word))
  const answer = await (await api.post(path, body)).text()
  t.equal(upstream.requests[0]?.text, body.replace(protocol.model, 'm'))
  t.ok(holdsWord(answer))
  t.match(
    api.lines.findLast(({ msg }) => msg === 'call'),
    {
      findings: [
        { stage: 'islands', point: 'request', action: 'report', count: 11 },
        { point: 'tool_result', count: 1 },
        { point: 'answer' },
        { point: 'tool_call' }
      ]
    }
  )
})

t.test('token counts and compactions are inspected too', async t => {
  const anthropic = await start(t, protocols.anthropic, [island])
  const {
    max_tokens: _,
    stop_sequences: __,
    metadata: ___,
    ...counted
  } = dialects.messages.request('anthropic/m', word)
  await (await anthropic.api.post('/v1/messages/count_tokens', counted)).text()
  t.equal(anthropic.upstream.requests.length, 1)
  t.notOk(holdsWord(anthropic.upstream.requests[0]?.text ?? word))
  const openai = await start(t, protocols.responses, [island])
  await (
    await openai.api.post('/v1/responses/compact', { model: 'openai/m-codex', input: `in ${word}` })
  ).text()
  await (
    await openai.api.post('/v1/responses/input_tokens', { model: 'openai/m-codex', input: `in ${word}` })
  ).text()
  t.equal(openai.upstream.requests.length, 2)
  for (const { text } of openai.upstream.requests) t.notOk(holdsWord(text))
})

t.test(
  'a server tool gets the masked arguments, and the model the masked result',
  async t => {
    const server = await startToolServer(t)
    const upstream = await fakeUpstream((_request, number) => ({
      pieces: [number === 0 ? toolCallAnswer('echo', { text: `in ${word}` }) : chatAnswer('ok')]
    }))
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [protocols.chat.provider(upstream.url)],
      guards: [{ ...island, at: ['tool_call', 'tool_result'] }],
      tools: { ...settings().tools, callMs: 10_000, loopMs: 20_000, allowedHosts: ['127.0.0.1'] }
    })
    const response = await api.post('/v1/chat/completions', {
      model: 'openai/m',
      messages: [{ role: 'user', content: 'hi' }],
      mcp_servers: [server.url]
    })
    t.equal(response.status, 200)
    t.notOk(holdsWord(await response.text()))
    t.match(upstream.requests[1]?.text, /in \[island\]/)
    t.notOk(holdsWord(upstream.requests[1]?.text ?? word))
  }
)

t.test('requests for embeddings and speech are inspected before they are sent', async t => {
  const upstream = await fakeUpstream(({ path }) =>
    path.endsWith('/speech')
      ? { headers: { 'content-type': 'audio/mpeg' }, pieces: ['sound'] }
      : {
          pieces: [
            JSON.stringify({
              object: 'list',
              data: [{ object: 'embedding', index: 0, embedding: [1, 0] }],
              model: 'm',
              usage: { prompt_tokens: 1, total_tokens: 1 }
            })
          ]
        }
  )
  t.teardown(upstream.close)
  for (const action of ['mask', 'refuse'] as const) {
    const api = await testGateway(t, {
      providers: [upstreamAt(upstream.url)],
      guards: [{ ...island, action }]
    })
    for (const [path, request] of [
      ['/v1/embeddings', { model: 'openai/text-embedding-3-small', input: `in ${word}` }],
      ['/v1/embeddings', { model: 'openai/text-embedding-3-small', input: [`in ${word}`], user: word }],
      ['/v1/audio/speech', { model: 'openai/tts-1', input: `in ${word}`, voice: 'alloy' }]
    ] as const) {
      const before = upstream.requests.length
      const response = await api.post(path, request)
      const body = await response.text()
      t.equal(response.status, action === 'mask' ? 200 : 400, body)
      const sent = upstream.requests.slice(before).map(({ text }) => text)
      t.same(sent.map(holdsWord), action === 'mask' ? [false] : [], path)
      if (action === 'mask') t.match(sent[0], /in \[island\]/, path)
    }
  }
})

t.test('a long text is inspected to its end, and each finding counts once', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('ok')] })
  t.teardown(upstream.close)
  const { limits } = settings()
  const rules = { name: 'x', match: '[a-w]{2,8}x', maxLength: 8 }
  const api = await testGateway(t, {
    providers: [chatUpstreamAt(upstream.url)],
    limits: { ...limits, jsonBodyBytes: 20e6, jsonBodyTotalBytes: 40e6 },
    guards: [
      { ...island, name: 'counts', action: 'report', at: ['request'], patterns: [rules] },
      { ...island, at: ['request'] }
    ]
  })
  const ask = async (content: string): Promise<unknown> => {
    const response = await api.post('/v1/chat/completions', {
      model: 'openai/m',
      messages: [{ role: 'user', content }]
    })
    t.equal(response.status, 200, await response.text())
    return api.lines.findLast(({ msg }) => msg === 'call')?.['findings']
  }
  t.match(
    await ask('aaaaaax '.repeat(40_000)),
    [{ stage: 'counts', count: 40_000 }],
    'in slices'
  )
  // Without spaces, like base64.
  for (const length of [100_000, 7 * 1024 * 1024]) {
    t.match(
      await ask(`${'A'.repeat(length)}${word}${'A'.repeat(100)}`),
      [{ stage: 'islands', point: 'request', action: 'mask', count: 1 }],
      `${length} characters`
    )
    t.notOk(holdsWord(upstream.requests.at(-1)?.text ?? word))
    t.match(upstream.requests.at(-1)?.text.slice(length), /A\[island\]A{100}"/)
  }
})

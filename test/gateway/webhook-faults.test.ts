/** Faults of a service used by a guard, as callers see them: their calls are refused, or pass. */

import t from 'tap'
import { chatUpstreamAt, testGateway } from '../support/gateway.ts'
import { closedUrl } from '../support/closed-port.ts'
import { messagesIn } from '../support/conversations.ts'
import { chatAnswer, chatFrames, eventStream, fakeUpstream, type Script } from '../support/upstream.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const headers = { 'content-type': 'application/json' }

/** Returns the address of a service with a fault. */
const faults: Readonly<Record<string, (t: Test) => string | Promise<string>>> = {
  slow: async t => await answering(t, { silent: true }),
  'slow in its answer': async t => await answering(t, { headers, pieces: ['{'], then: 'stall' }),
  down: () => closedUrl,
  broken: async t => await answering(t, { status: 500, headers, pieces: ['{}'] }),
  'cut off': async t => await answering(t, { headers, pieces: ['{'], then: 'reset' }),
  'lying about its form': async t => await answering(t, { headers, pieces: ['{"texts":"a"}'] }),
  'lying about the number of texts': async t => await answering(t, { headers, pieces: ['{"texts":[]}'] }),
  'no JSON': async t => await answering(t, { headers, pieces: ['<html>'] }),
  huge: async t => await answering(t, { headers, pieces: [`{"refuse":"${'x'.repeat(20_000)}"}`] }),
  redirecting: async t => {
    const elsewhere = await fakeUpstream({ headers, pieces: ['{"refuse":"followed"}'] })
    t.teardown(elsewhere.close)
    return await answering(t, { status: 307, headers: { location: elsewhere.url } })
  }
}

async function answering (t: Test, script: Script): Promise<string> {
  const { url, close } = await fakeUpstream(script)
  t.teardown(close)
  return url
}

for (const [fault, serviceOf] of Object.entries(faults)) {
  t.test(`a call is refused or passes, as configured, when a service is ${fault}`, async t => {
    const upstream = await fakeUpstream(({ json }) =>
      (json as { stream?: boolean }).stream === true
        ? { headers: eventStream, pieces: chatFrames(['Hel', 'lo']) }
        : { pieces: [chatAnswer('Hello')] }
    )
    t.teardown(upstream.close)
    const stage: GuardSettings = {
      name: 'dlp',
      use: 'webhook',
      url: await serviceOf(t),
      at: ['request'],
      retries: 0,
      maxBytes: 10_000,
      timeoutMs: fault.startsWith('slow') ? 50 : 20_000
    }
    for (const at of ['request', 'answer'] as const) {
      for (const whenUnavailable of ['refuse', 'pass'] as const) {
        const api = await testGateway(t, {
          providers: [chatUpstreamAt(upstream.url)],
          guards: [{ ...stage, at: [at], whenUnavailable }]
        })
        for (const stream of [false, true]) {
          const title = `${at}, ${whenUnavailable}, ${stream ? 'streamed' : 'complete'}`
          const before = upstream.requests.length
          const messages = [{ role: 'user', content: 'Hi' }]
          const response = await api.post('/v1/chat/completions', { model: 'openai/m', messages, stream })
          const text = await response.text()
          if (whenUnavailable === 'refuse') {
            t.equal(response.status, 503, `${title}: ${text}`)
            t.match(JSON.parse(text), { error: { code: 'stage_unavailable' } }, title)
            t.equal(upstream.requests.length, before + (at === 'request' ? 0 : 1), title)
          } else {
            t.equal(response.status, 200, `${title}: ${text}`)
            t.equal(stream ? joined(text) : /"content":\s*"Hello"/.test(text), stream ? 'Hello' : true, title)
          }
          t.match(
            api.lines.findLast(({ msg }) => msg === 'call'),
            { findings: [{ stage: 'dlp', point: at, action: 'unavailable', count: 1 }] },
            title
          )
        }
      }
    }
  })
}

function joined (body: string): string {
  return messagesIn(body)
    .flatMap(({ choices }) => choices as ReadonlyArray<{ delta: { content?: string } }>)
    .map(({ delta: { content = '' } }) => content)
    .join('')
}

import t from 'tap'
import { CallCapture } from '../../lib/bodies/call-capture.ts'
import { Secret } from '../../lib/core/secret.ts'
import { toJsonReply } from '../../lib/core/reply.ts'
import { SpanContent, type Content, type ContentSettings } from '../../lib/telemetry/span-content.ts'
import { receivedCall } from '../support/stages.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { Call } from '../../lib/core/call.ts'

const settings: ContentSettings = { projects: ['*'], maxBytes: 256, redact: { fields: [], patterns: [] } }
const key: ApiKey = { id: 'key', name: 'key' }

/** Ends a call with this request and answer. */
async function contentOf (
  content: SpanContent,
  request: string,
  answer: unknown = {},
  parts: Partial<Call> = {}
): Promise<Content | undefined> {
  const call = receivedCall(parts)
  call.record.bodies = content.capturing([new Secret('gateway-secret')], undefined)?.(key, 'chat')
  call.record.bodies?.takeRequest([Buffer.from(request)])
  call.record.bodies?.watch(toJsonReply(answer))
  return await content.take(call)?.read()
}

const asking = (content: string): string => JSON.stringify({ messages: [{ role: 'user', content }] })

t.test('projects are selected by id, by name, or all of them', async t => {
  const wanted = (projects: string[], parts: Partial<ApiKey>, endpoint = 'chat'): boolean =>
    new SpanContent({ ...settings, projects }).capturing([], undefined)?.({ ...key, ...parts }, endpoint) !==
    undefined
  const project = { id: 'project_a', name: 'Support' }
  t.ok(wanted(['*'], {}))
  t.ok(wanted(['default'], {}))
  t.ok(wanted(['project_a'], { project }))
  t.ok(wanted(['Support'], { project }))
  t.notOk(wanted(['Support'], {}))
  t.notOk(wanted(['*'], {}, 'models'))
})

t.test('nothing is recorded for a call without spans', async t => {
  const capture = new SpanContent(settings).capturing([], undefined)
  t.equal(capture?.(key, 'chat', { isSampled: false }), undefined)
  t.ok(capture?.(key, 'chat', { isSampled: true }))
})

t.test('texts are redacted like stored bodies: keys, secrets, members and patterns', async t => {
  const content = new SpanContent({
    ...settings,
    maxBytes: 1024,
    redact: { fields: ['SSN'], patterns: ['falcon'] }
  })
  const call = { id: 'c', function: { name: 'f', arguments: '{"ssn":"123","password":"p"}' } }
  const found = await contentOf(
    content,
    asking('falcon gateway-secret callers-key sk-proj-0123456789abcdef0123456789abcdef'),
    { choices: [{ message: { tool_calls: [call] } }] },
    { headers: { authorization: 'Bearer callers-key' } }
  )
  t.strictSame(found, {
    system: [],
    input: [
      { role: 'user', parts: [{ type: 'text', content: '[redacted] [redacted] [redacted] [redacted]' }] }
    ],
    output: [
      {
        role: 'assistant',
        parts: [
          {
            type: 'tool_call',
            id: 'c',
            name: 'f',
            arguments: '{"ssn":"[redacted]","password":"[redacted]"}'
          }
        ]
      }
    ],
    isTruncated: false
  })
})

t.test('a long text is cut; a request too long to parse shows its raw beginning', async t => {
  const content = new SpanContent(settings)
  const cut = await contentOf(content, asking('x'.repeat(1000)))
  t.equal(cut?.isTruncated, true)
  t.match(cut?.input, [{ role: 'user', parts: [{ type: 'text', content: /^x{150,256}$/ }] }])
  const long = await contentOf(content, asking('x'.repeat(100_000)))
  t.equal(long?.isTruncated, true)
  t.match(long?.input, [{ role: 'user', parts: [{ type: 'text', content: /^\{"messages"/ }] }])
})

t.test(
  'a request that no guard has inspected is not recorded, nor is a call without a body',
  async t => {
    const call = receivedCall({})
    call.record.guards.awaitsInspection = true
    t.match(
      await contentOf(new SpanContent(settings), asking('hi'), { error: { message: 'hi is no' } }, call),
      { input: [], output: [] }
    )
    t.equal(new SpanContent(settings).take(receivedCall({})), undefined)
  }
)

t.test('without free memory texts are not sent, until others have been', async t => {
  const content = new SpanContent({ ...settings, maxBytes: 64 * 1024 })
  const calls = Array.from({ length: 40 }, () => {
    const call = receivedCall({})
    call.record.bodies = content.capturing([], undefined)?.(key, 'chat')
    call.record.bodies?.takeRequest([Buffer.from(asking('x'.repeat(1024 * 1024 - 100)))])
    return call
  })
  const read = await Promise.all(calls.map(async call => await content.take(call)?.read()))
  t.equal(read.filter(found => found?.input.length === 0 && found.isTruncated).length, 9)
  t.match(await contentOf(content, asking('hi')), { input: [{}], isTruncated: false })
})

t.test('a project that stores bodies still stores them', async t => {
  class Kept extends CallCapture {}
  const memory = { take: () => true, release: () => undefined }
  const content = new SpanContent(settings)
  const call = receivedCall({})
  const redaction = { hasPatterns: false } as never // it only takes notes
  const kept = new Kept({ maxBytes: 10_000, redaction, secrets: [] }, memory)
  call.record.bodies = content.capturing([], () => kept)?.(key, 'chat')
  call.record.bodies?.takeRequest([Buffer.from(asking('hi'))])
  t.match(await content.take(call)?.read(), { input: [{ parts: [{ content: 'hi' }] }] })
  t.equal(call.record.bodies, kept)
  t.equal(kept.request?.sizeBytes, asking('hi').length)
})

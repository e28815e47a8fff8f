import { once } from 'node:events'
import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { Admission } from '../../lib/http/admission.ts'
import { beginCall, type RequestBounds, type BegunCall } from '../../lib/http/begin-call.ts'
import { koaContext } from '../support/koa-context.ts'
import { openRequest, type OpenRequest } from '../support/open-request.ts'
import { settles, until } from '../support/until.ts'
import { keptUploads } from '../support/uploads.ts'
import type { Endpoint } from '../../lib/core/endpoint.ts'
import type { UploadForm } from '../../lib/core/upload.ts'
import type { Test } from 'tap'
import { standardSignal } from '../../lib/async/cancellation.ts'

const bounds: RequestBounds = {
  bodyMs: 60_000,
  jsonBodyBytes: 1_000_000,
  storedBodyBytes: 1_000_000,
  jsonValues: 1000,
  jsonDepth: 8,
  jsonCompression: 20,
  formFields: 100,
  formFiles: 32
}
const endpoint = { name: 'chat', method: 'POST', path: '/', body: 'json', maxBodyBytes: 1_000_000 } as const

const oneCall = (): Admission =>
  new Admission({ openCalls: 1, maxSharePerKey: 1, bodyMemoryBytes: 1_000_000, uploadDiskBytes: 1_000_000 })

interface Opened extends BegunCall, OpenRequest {
  readonly admission: Admission
}

async function opened (
  t: Test,
  init: RequestInit = {},
  parts: Partial<Endpoint> = {},
  given: Partial<RequestBounds> = {},
  admission = oneCall()
): Promise<Opened> {
  const pair = await openRequest(t, '/', { method: 'POST', ...init })
  const handle = async (): Promise<never> => await Promise.reject(new Error('no endpoint is called'))
  const open = beginCall(
    koaContext(pair.request, pair.response),
    {
      params: { id: '7' },
      endpoint: { ...endpoint, handle, ...parts },
      bounds: { ...bounds, ...given },
      admission
    }
  )
  t.teardown(open.close)
  return { ...pair, ...open, admission }
}

t.test(
  'a call has the headers and parameters of its request, and an id that the caller may set',
  async t => {
    const { call } = await opened(t, { headers: { 'x-request-id': 'mine-1', 'x-other': 'a' }, body: '{}' })
    t.match(call, {
      id: 'mine-1',
      params: { id: '7' },
      headers: { 'x-other': 'a' },
      record: { endpoint: 'chat' }
    })
    t.not((await opened(t)).call.id, (await opened(t)).call.id)
  }
)

t.test('a request for an unknown endpoint becomes a call without a body', async t => {
  const pair = await openRequest(t, '/', { method: 'POST', body: '{}' })
  const admission = new Admission({ openCalls: 1, maxSharePerKey: 1, uploadDiskBytes: 1 })
  const { call, close } = beginCall(koaContext(pair.request, pair.response), {
    params: {},
    endpoint: undefined,
    bounds,
    admission
  })
  t.teardown(close)
  t.equal(call.record.endpoint, 'none')
  t.equal(await call.body(), undefined)
  t.equal(admission.openCalls, 0)
})

t.test('a slot among the open calls is taken with the body and released with the call', async t => {
  const { call, close, admission } = await opened(t, {
    body: '{"a":[1,2]}',
    headers: { 'content-type': 'application/json' }
  })
  t.equal(admission.openCalls, 0, 'not before its key was checked')
  t.same(await call.body(), { a: [1, 2] })
  t.equal(admission.openCalls, 1)
  t.ok(admission.inUse.memoryBytes > 0)
  close()
  t.equal(admission.openCalls, 0)
  t.same(admission.inUse, { memoryBytes: 0, diskBytes: 0 })
})

t.test('a body is kept as received unless it is large', async t => {
  const admission = new Admission({
    openCalls: 4,
    maxSharePerKey: 4,
    bodyMemoryBytes: 1e8,
    uploadDiskBytes: 0
  })
  for (const [bytes, isKept] of [
    [19, false],
    [20, true],
    [500_000, true],
    [1_100_000, false]
  ] as const) {
    const list = `[ "${'a'.repeat(bytes - 12)}" ]`
    const body = `{"a":${list}}`
    const { call } = await opened(
      t, { body, headers: { 'content-type': 'application/json' } },
      { keepsBodiesFromBytes: 20, maxBodyBytes: 2_000_000 }, { jsonBodyBytes: 2_000_000 }, admission
    )
    const { a } = await call.body() as { readonly a: unknown }
    const kept = call.callerBody?.()
    t.equal(kept?.text(), isKept ? body : undefined, `${bytes} bytes`)
    const printed = kept?.print({ b: 1, a })
    t.equal(printed && Buffer.from(printed).toString(), isKept ? `{"b":1,"a":${list}}` : undefined, 'copied')
  }
})

t.test('without a free slot the body is not read', async t => {
  const { call, admission, request } = await opened(t, { body: '{"a":1}' })
  admission.enter('other')
  await t.rejects(call.body(), { code: 'overloaded', status: 503 })
  t.equal(request.readableFlowing, null)
})

t.test('uploads are deleted with their call, and their memory and disk space are released', async t => {
  const form = new FormData()
  form.append('file', new Blob(['x'.repeat(700_000)]), 'a.wav')
  const { call, close, admission } = await opened(t, { body: form }, { body: 'multipart' })
  const { files } = await call.body() as UploadForm
  t.match(files['file'], [{ name: 'a.wav', sizeBytes: 700_000 }])
  t.ok(admission.inUse.memoryBytes > 300_000)
  t.ok(admission.inUse.diskBytes > 100_000)
  t.equal(keptUploads().length, 1)
  close()
  await until(() => admission.openCalls === 0, 'the upload to be deleted')
  t.same([keptUploads(), admission.inUse], [[], { memoryBytes: 0, diskBytes: 0 }])
})

t.test('a call ends when its caller disconnects or when it is aborted', async t => {
  const leaving = new AbortController()
  const left = await opened(t, { signal: leaving.signal })
  const aborted = once(standardSignal(left.call.signal), 'abort')
  leaving.abort()
  await settles(aborted, 'the call to end with its caller')
  t.match(left.call.signal.reason, { code: 'client_closed_request' })

  const refused = await opened(t)
  refused.abort(new GatewayError('shutting_down'))
  refused.abort(new GatewayError('timeout'))
  t.match(refused.call.signal.reason, { code: 'shutting_down' }, 'for the first reason')
})

t.test('a call whose answer is complete is not cancelled when the connection closes', async t => {
  const { call, response, answer } = await opened(t)
  const closed = once(response, 'close')
  response.end('ok')
  await (await answer).text()
  await settles(closed, 'the end of the response')
  t.notOk(call.signal.aborted)
})

import t from 'tap'
import { testGateway } from '../support/gateway.ts'

t.test('paths that clients know from providers say what serves instead, in the dialect of the caller', async t => {
  const api = await testGateway(t)
  const rows: ReadonlyArray<readonly [path: string, message: RegExp | string]> = [
    ['/v1/batches', /^Batches are not available\. .*`deferred: true`/],
    ['/v1/batches/batch_1/cancel', /^Batches/],
    ['/v1/files?limit=3', /^Files are not stored here/],
    ['/v1/threads/runs', /`previous_response_id` of POST \/v1\/responses/],
    ['/v1/vector_stores', /POST \/v1\/embeddings/],
    ['/v1/realtime/sessions', /POST \/v1\/audio\/speech/],
    ['/v1/moderations', /GET \/openapi\.json/],
    ['/v1/complete', /POST \/v1\/messages/],
    ['/v1/filesystem', 'Not found.']
  ]
  for (const [path, message] of rows) {
    const answer = await api.post(path, {})
    t.equal(answer.status, 404, path)
    t.match(await answer.json(), { error: { code: 'not_found', type: 'invalid_request_error', message } }, path)
  }
  const anthropic = await api.get('/v1/files', { headers: { 'anthropic-version': '2023-06-01' } })
  t.match(await anthropic.json(), { type: 'error', error: { type: 'not_found_error', message: /^Files are not stored here/ } })
})

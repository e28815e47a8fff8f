import t from 'tap'
import { testGateway } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'

t.test(
  'for paths known from providers the error names the endpoint to use, in the dialect of the caller',
  async t => {
    const { server } = settings()
    const api = await testGateway(t, { server: { ...server, aliases: false } })
    const rows: ReadonlyArray<readonly [path: string, hint: RegExp | string]> = [
      ['/v1/batches', /^Batches are not available\. .*`deferred: true`.* `deferred\.for_all_providers`/],
      ['/v1/batches/batch_1/cancel', /^Batches/],
      ['/v1/files?limit=3', /^Files are not stored here/],
      ['/v1/threads/runs', /`previous_response_id` of POST \/v1\/responses/],
      ['/v1/vector_stores', /POST \/v1\/embeddings/],
      ['/v1/realtime/sessions', /POST \/v1\/audio\/speech/],
      ['/v1/moderations', /GET \/openapi\.json/],
      ['/v1/complete', /POST \/v1\/messages/],
      ['/v1/filesystem', ''],
      ['/chat/completions', '`/chat/completions` is served at `/v1/chat/completions`.'],
      ['/audio/speech?beta=true', '`/audio/speech` is served at `/v1/audio/speech`.'],
      ['/responses/', '`/responses` is served at `/v1/responses`.'],
      ['/responses/resp_1/cancel', '`/responses/…` is served at `/v1/responses/…`.'],
      ['/models/openai/x', '`/models/…` is served at `/v1/models/…`.'],
      ['/v1/v1/messages', 'The base URL of the client contains extra path segments. Remove them; this endpoint is served at `/v1/messages`.'],
      [
        '/v1/v1/v1/chat/completions',
        'The base URL of the client contains extra path segments. Remove them; this endpoint is served at `/v1/chat/completions`.'
      ],
      [
        '/other/v1/models/openai/x',
        'The base URL of the client contains extra path segments. Remove them; this endpoint is served at `/v1/models/…`.'
      ],
      ['/v1/chat/completion', 'Did you mean `/v1/chat/completions`?'],
      ['/v1/model', 'Did you mean `/v1/models`?'],
      ['/chat/completion', 'Did you mean `/v1/chat/completions`?'],
      ['/v1/v1/files', /^Files are not stored here/],
      ['/batches', /^Batches are not available/],
      ['/other?key=secret', ''],
      ['/livez/x', ''],
      ['/admin/v1/embeddings', ''],
      ['/v1', /^This is the base URL of the API/],
      ['/v1/', /^This is the base URL of the API/],
      [
        '/v1/chat/completions/chat/completions',
        'The base URL of the client includes the endpoint path. End it at `/v1`; this endpoint is served at `/v1/chat/completions`.'
      ],
      ['/v1/chat/completions/x', '']
    ]
    for (const [path, hint] of rows) {
      const answer = await api.post(path, {})
      t.equal(answer.status, 404, path)
      const { error } = (await answer.json()) as {
        readonly error: { readonly code: string, readonly type: string, readonly message: string }
      }
      t.match(error, { code: 'not_found', type: 'invalid_request_error' }, path)
      const [pathname = ''] = path.split('?')
      const start = `Not found: POST ${pathname}.${hint === '' ? '' : ' '}`
      t.equal(error.message.slice(0, start.length), start)
      if (typeof hint === 'string') t.equal(error.message.slice(start.length), hint, path)
      else t.match(error.message.slice(start.length), hint, path)
    }
    const long = await api.post(`/v1${'/v1'.repeat(2000)}`, {})
    t.match(await long.json(), { error: { message: `Not found: POST /v1${'/v1'.repeat(65)}/v…` } })
    const doubled = await api.post('/v1/v1/messages', {}, { headers: { 'anthropic-version': '2023-06-01' } })
    t.match(await doubled.json(), {
      type: 'error',
      error: {
        type: 'not_found_error',
        message:
          'Not found: POST /v1/v1/messages. The base URL of the client contains extra path segments. Remove them; this endpoint is served at `/v1/messages`.'
      }
    })
    const anthropic = await api.get('/v1/files', { headers: { 'anthropic-version': '2023-06-01' } })
    t.match(await anthropic.json(), {
      type: 'error',
      error: { type: 'not_found_error', message: /^Not found: GET \/v1\/files\. Files are not stored here/ }
    })
  }
)

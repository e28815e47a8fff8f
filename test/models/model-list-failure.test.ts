import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { ModelListFailure, describeListFailure } from '../../lib/models/model-list-failure.ts'
import { providerSettings } from '../support/settings.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'

const at = (baseUrl: string, parts: Partial<ProviderSettings> = {}): ProviderSettings => ({
  ...providerSettings('mine', 'openai-compatible'),
  baseUrl,
  ...parts
})
const url = 'http://host:8000/v1'

t.test('a refused key is named by its configuration path, never by value', async t => {
  const refused = (parts: Partial<ProviderSettings>, status = 401): string =>
    describeListFailure(new ModelListFailure('credential', { path: '/models', status }), at(url, parts))
  t.equal(
    refused({ apiKey: new Secret('sk-1', 'OPENAI_API_KEY') }),
    'The provider refused the key in `OPENAI_API_KEY` (401).'
  )
  t.equal(
    refused(
      {
        apiKeys: [
          { key: new Secret('sk-1', 'FIRST'), weight: 1 },
          { key: new Secret('sk-2', 'SECOND'), weight: 1 }
        ]
      },
      403
    ),
    'The provider refused the key in `FIRST` (403).'
  )
  t.equal(
    refused({ apiKey: new Secret('sk-1') }),
    'The provider refused the key in `providers.mine.api_key` (401).'
  )
  t.equal(refused({}), 'The provider refused the request without a key (401): set `providers.mine.api_key`.')
})

t.test('a missing path is reported with the address and a hint about the base URL', async t => {
  const missing = (baseUrl: string, path = '/models'): string =>
    describeListFailure(new ModelListFailure('status', { path, status: 404 }), at(baseUrl))
  t.equal(
    missing('http://host:8000'),
    'GET http://host:8000/models failed with status 404: does `base_url` lack `/v1`?'
  )
  t.equal(
    missing('https://host/openai'),
    'GET https://host/openai/models failed with status 404: does `base_url` lack `/v1`?'
  )
  t.equal(missing(url), 'GET http://host:8000/v1/models failed with status 404: is `base_url` right?')
  t.equal(
    missing('https://host/v1', '/v1/models?limit=1000'),
    'GET https://host/v1/v1/models failed with status 404: `base_url` must not end in `/v1` for this kind.'
  )
  t.equal(
    missing('https://host', '/v1/models?limit=1000'),
    'GET https://host/v1/models failed with status 404: is `base_url` right?'
  )
  t.equal(
    missing('https://me:secret@host/?key=secret'),
    'GET https://host/models failed with status 404: does `base_url` lack `/v1`?'
  )
})

t.test('a redirect is reported with its target', async t => {
  const facts = { path: '/models', status: 308, target: '`https://api.example.com/v1/models`' }
  t.equal(
    describeListFailure(new ModelListFailure('redirect', facts), at(url)),
    'GET http://host:8000/v1/models was redirected (308) to `https://api.example.com/v1/models`: change `base_url` accordingly.'
  )
})

t.test('other failures are reported with the address', async t => {
  const about = { path: '/models', status: 200 }
  t.equal(
    describeListFailure(new ModelListFailure('status', { path: '/models', status: 500 }), at(url)),
    'GET http://host:8000/v1/models failed with status 500.'
  )
  t.equal(
    describeListFailure(new ModelListFailure('not_json', { ...about, mediaType: 'text/html' }), at(url)),
    'The response of GET http://host:8000/v1/models is not JSON but text/html: is `base_url` right?'
  )
  t.equal(
    describeListFailure(new ModelListFailure('not_json', about), at('http://host')),
    'The response of GET http://host/models is not JSON: does `base_url` lack `/v1`?'
  )
  t.equal(
    describeListFailure(new ModelListFailure('no_list', about), at(url)),
    'The response of GET http://host:8000/v1/models is not a list of models: is `base_url` right?'
  )
  t.equal(
    describeListFailure(new Error('fetch failed', { cause: new Error('ECONNREFUSED') }), at(url)),
    'fetch failed (ECONNREFUSED)'
  )
})

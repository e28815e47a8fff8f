import { Ajv2019 } from 'ajv/dist/2019.js'
import t from 'tap'
import { Type } from 'typebox'
import { openApiDocument } from '../../lib/wire/openapi.ts'
import type { Json } from '../../lib/wire/openapi-schemas.ts'
import { endpointDocs } from '../../pipelines/index.ts'
import { openApi } from '../../pipelines/openapi.ts'
import { receivedCall } from '../support/stages.ts'

type Objects = { [key: string]: Json }

const reply = await openApi(endpointDocs, '1.2.3')(receivedCall({}))
const document: unknown = JSON.parse(typeof reply.body === 'string' ? reply.body : '')

/** The value at a JSON pointer; undefined when there is none. */
function at (pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => {
      const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
      return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
    }, document)
}

function* walk (value: unknown): Generator<object> {
  if (typeof value !== 'object' || value === null) return
  yield value
  for (const item of Object.values(value)) yield* walk(item)
}

t.test('the document is OpenAPI 3.1, with both ways to send a key', async t => {
  t.equal(reply.headers['content-type'], 'application/json; charset=utf-8')
  t.match(document, {
    openapi: /^3\.1\./,
    info: { title: 'Headgate', version: '1.2.3' },
    security: [{ bearer: [] }, { apiKey: [] }],
    components: { securitySchemes: { bearer: { scheme: 'bearer' }, apiKey: { name: 'X-API-Key' } } }
  })
})

t.test("endpoints that call a provider report what is left of a key's limits", async t => {
  const headers = (path: string, method: string, status: number): string[] =>
    Object.keys(
      at(`/paths/${path.replaceAll('/', '~1')}/${method}/responses/${status}/headers`) ?? {}
    ).filter(name => name.startsWith('x-ratelimit') || name === 'retry-after')
  const six = ['requests', 'tokens'].flatMap(of =>
    ['limit', 'remaining', 'reset'].map(what => `x-ratelimit-${what}-${of}`)
  )
  t.same(headers('/v1/chat/completions', 'post', 200), six)
  t.same(headers('/v1/chat/completions', 'post', 429), ['retry-after', ...six])
  t.same(headers('/v1/chat/completions', 'post', 503), ['retry-after', ...six])
  t.same(headers('/v1/chat/completions', 'post', 402), ['retry-after', ...six])
  t.ok(at('/paths/~1v1~1chat~1completions/post/responses/402/headers/x-headgate-budget-reset'))
  t.same(headers('/v1/models', 'get', 200), [])
  t.match(at('/paths/~1v1~1chat~1completions/post/responses/402/description'), /insufficient_quota/)
})

t.test('every reference is resolved, and every named schema is used', async t => {
  const used = new Set<string>()
  for (const part of walk(document)) {
    if (!('$ref' in part)) continue
    const pointer = String(part.$ref)
    used.add(pointer)
    t.type(at(pointer.slice(1)), 'object', pointer)
  }
  for (const name of Object.keys(at('/components/schemas') as Objects)) {
    // an object, or the test fails
    t.ok(used.has(`#/components/schemas/${name}`), name)
  }
})

t.test('every schema is valid, and agrees with the validation of calls', async t => {
  const ajv = new Ajv2019({ strict: true, strictTypes: false, formats: { 'date-time': true } })
  ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components'])
  ajv.addSchema({ $id: 'openapi', ...(document as Objects) }) // as printed by the endpoint
  const paths = new Map<string, string>() // one of each schema: many endpoints share them
  for (const [path, operations] of Object.entries(at('/paths') as Objects)) {
    // an object too
    for (const part of walk(operations)) if ('schema' in part) paths.set(JSON.stringify(part.schema), path)
  }
  for (const [schema, path] of paths) t.ok(ajv.compile(absolute(JSON.parse(schema))), path)
  const request = ajv.getSchema('openapi#/components/schemas/ChatRequest')
  t.equal(request?.({ model: 'a', messages: [{ role: 'user', content: 'hi' }], temperature: null }), true)
  t.equal(request?.({ model: 'a', messages: [{ role: 'bot' }] }), false)
})

/** A schema on its own, with references into the document. */
function absolute (schema: unknown): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"openapi#')) as object // a schema
}

t.test('every field of a chat request is described in a sentence', async t => {
  const properties = at('/components/schemas/ChatRequest/properties') as Objects // an object too
  for (const [name, property] of Object.entries(properties)) {
    t.match(property, { description: /^\S.*\.$/ }, name)
  }
})

t.test('an operation lists its parameters, its answers and its errors', async t => {
  t.match(at('/paths/~1v1~1models~1{model}/get'), {
    operationId: 'model',
    parameters: [{ name: 'model', in: 'path', required: true }],
    responses: { 200: {}, 401: {}, 404: { description: /model_not_found/ } }
  })
  const chat = at('/paths/~1v1~1chat~1completions/post')
  t.match(chat, {
    requestBody: {
      content: { 'application/json': { schema: { $ref: '#/components/schemas/ChatRequest' } } }
    },
    responses: {
      200: { content: { 'application/json': {}, 'text/event-stream': {} } },
      400: { description: /`invalid_json`[^]*`unsupported_parameter`/ },
      422: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/ValidationErrorBody' } } }
      }
    }
  })
  t.equal(new Set(endpointDocs.map(({ operationId }) => operationId)).size, endpointDocs.length)
})

t.test('each operation of the admin API may time out, as every call has a deadline', async t => {
  const ofAdmin = endpointDocs.filter(({ path }) => path.startsWith('/admin/v1/'))
  t.not(ofAdmin.length, 0)
  for (const { path, method } of ofAdmin) {
    const operation = at(`/paths/${documented(path)}/${method.toLowerCase()}`)
    t.match(operation, { responses: { 500: {}, 503: {}, 504: { description: /`timeout`/ } } }, path)
  }
})

/** Returns the path of an endpoint, escaped for a JSON pointer into the document. */
function documented (path: string): string {
  return path.replace(/[:*](\w+)/g, '{$1}').replaceAll('~', '~0').replaceAll('/', '~1')
}

t.test('headers for choosing providers are parameters of all endpoints that call one', async t => {
  const named = (path: string, method: string): unknown[] =>
    [at(`/paths/${path.replaceAll('/', '~1')}/${method}/parameters`) ?? []]
      .flat()
      .map(parameter => Reflect.get(Object(parameter), 'name') as unknown)
  const chosen = ['X-Provider-Key', 'X-Provider', 'X-Provider-Model', 'X-Headgate-Only', 'X-Session-Id']
  for (const path of ['/v1/chat/completions', '/v1/images/edits', '/v1/messages/count_tokens']) {
    const names = named(path, 'post')
    for (const name of chosen) t.ok(names.includes(name), `${path}: ${name}`)
  }
  t.same(named('/v1/responses/{response_id}', 'delete'), ['response_id', 'X-Provider-Key'])
  t.same(named('/v1/models', 'get'), ['limit', 'after_id', 'before_id', 'anthropic-version'])
})

t.test('an open endpoint needs no key, and a form states its media type', async t => {
  const { paths } = openApiDocument(
    [
      {
        operationId: 'upload',
        method: 'POST',
        path: '/upload',
        group: 'Test',
        summary: 'Take a file.',
        request: { schema: Type.Object({}), mediaType: 'multipart/form-data' },
        answers: [{ description: 'Bytes.', mediaType: 'audio/mpeg' }],
        open: true
      }
    ],
    { version: '1' }
  )
  t.match(paths, {
    '/upload': {
      post: {
        security: [],
        requestBody: { content: { 'multipart/form-data': { schema: { type: 'object' } } } },
        responses: { 200: { content: { 'audio/mpeg': {} } } }
      }
    }
  })
  t.notMatch(paths, { '/upload': { post: { responses: { 401: {} } } } })
})

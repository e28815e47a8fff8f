/**
 * Lists further paths of the endpoints: programs written for another gateway, for Azure or for a base address
 * without `/v1` only need this gateway's host.
 */

import { GatewayError } from '../lib/core/errors.ts'
import { noteIgnored } from '../lib/core/record.ts'
import { isObject } from '../lib/json/type-guards.ts'
import { updateCall, type Call } from '../lib/core/call.ts'
import type { Endpoint } from '../lib/core/endpoint.ts'
import { isForm } from '../lib/validation/form.ts'
import type { EndpointDoc } from '../lib/wire/endpoint-doc.ts'

interface AliasRule {
  /** Matches the paths of endpoints that have these aliases. */
  readonly of: RegExp
  /**
   * The aliases, with `$1` for what the pattern captures. A parameter `*model` replaces `model` of the body.
   */
  readonly paths: readonly string[]
}

const rules: readonly AliasRule[] = [
  { of: /^\/v1\/(.+)$/, paths: ['/$1', '/openai/$1', '/openai/v1/$1'] },
  {
    of: /^\/v1\/((?:chat\/)?completions|embeddings|audio\/\w+|images\/\w+)$/,
    paths: ['/openai/deployments/*model/$1', '/engines/*model/$1']
  },
  { of: /^\/v1\/((?:messages|models).*)$/, paths: ['/anthropic/v1/$1'] },
  { of: /^\/livez$/, paths: ['/health/liveliness', '/health/liveness'] },
  { of: /^\/readyz$/, paths: ['/health/readiness'] }
]

/** Returns the aliases of endpoints. They share the endpoint's scope, limits, record and answer. */
export function aliasEndpoints (endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.flatMap(endpoint =>
    aliasPaths(endpoint.path).map(path => ({
      ...endpoint,
      path,
      isAlias: true,
      ...namesModel(path) && { handle: (call: Call) => endpoint.handle(withModelOfPath(call, endpoint)) }
    }))
  )
}

/** Returns the documentation of the endpoints' aliases. */
export function aliasDocs (docs: readonly EndpointDoc[]): EndpointDoc[] {
  return docs.flatMap(doc =>
    aliasPaths(doc.path).map((path, index) => ({
      ...doc,
      path,
      operationId: `${doc.operationId}Alias${index + 1}`,
      group: 'Aliases',
      summary: `The same as ${doc.method} ${doc.path}${namesModel(path) ? ', with the model of the path' : ''}.`
    }))
  )
}

function aliasPaths (path: string): string[] {
  return rules.flatMap(({ of, paths }) => (of.test(path) ? paths.map(alias => path.replace(of, alias)) : []))
}

function namesModel (path: string): boolean {
  return /^\/(?:openai\/deployments|engines)\//.test(path)
}

/** The model in the path overrides that in the body, where clients of Azure may send another name. */
function withModelOfPath (call: Call, endpoint: Endpoint): Call {
  const { body, params: { model = '' }, record } = call
  // `/openai/deployments//chat/completions` is not a text completion URL.
  if (model.startsWith('/')) throw new GatewayError('model_not_found', { param: 'model' })
  return updateCall(call, {
    body: async () => {
      const read = await body()
      if (!isObject(read)) return read
      const form = endpoint.body === 'multipart' && isForm(read) ? read : undefined
      const { model: other } = form?.fields ?? read
      if (other != null && other !== model) noteIgnored(record.request, 'model')
      return form === undefined ? { ...read, model } : { ...form, fields: { ...form.fields, model } }
    }
  })
}

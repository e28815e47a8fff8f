/**
 * Compares answers with the OpenAPI document that the gateway serves.
 *
 * Every object in the document is closed for the comparison: a field in an answer that is not in the document
 * is a finding too, so neither can change without the other.
 */

import { Ajv2019, type ValidateFunction } from 'ajv/dist/2019.js'
import { codes } from '../../lib/core/errors.ts'

type Fields = Record<string, unknown>

export interface Answer {
  /** As written in the document: `/v1/models/{model}`. */
  readonly path: string
  readonly method: 'get' | 'post' | 'delete'
  readonly response: Response
  /** The schema that replaces the documented one: that of a dry run. */
  readonly dryRun?: boolean
}

export interface Conformance {
  /** Lists where an answer deviates from the document; empty if nowhere. Reads the body. */
  readonly findings: (answer: Answer) => Promise<string[]>
  /**
   * Lists documented operations, statuses and media types that no answer has had yet, and streams that never
   * broke off.
   */
  readonly missing: () => string[]
}

/** @param document as served by `/openapi.json` */
export function conformance (document: unknown): Conformance {
  const closed = closedCopy(document) as Fields
  const ajv = new Ajv2019({ strict: false, allErrors: false })
  ajv.addFormat('date-time', text => !Number.isNaN(Date.parse(text)))
  ajv.addSchema({ ...closed, $id: 'openapi' })
  const compiled = new Map<string, ValidateFunction>()
  const seen = new Set<string>()

  const check = (pointer: string, value: unknown): string[] => {
    // Schemas that many answers share are compiled once.
    const { $ref, ...others } = Object(at(document, pointer)) as Fields
    if (typeof $ref === 'string' && Object.keys(others).length === 0) return check($ref.slice(1), value)
    let validate = compiled.get(pointer)
    if (validate === undefined) compiled.set(pointer, validate = ajv.compile({ $ref: `openapi#${pointer}` }))
    if (validate(value)) return []
    const [error] = validate.errors ?? []
    return [
      `${pointer}: ${error?.instancePath ?? ''} ${error?.message ?? ''} ${JSON.stringify(error?.params)} in ${JSON.stringify(value).slice(0, 600)}`
    ]
  }

  const findings = async ({ path, method, response, dryRun = false }: Answer): Promise<string[]> => {
    const { status } = response
    const mediaType = response.headers.get('content-type')?.split(';', 1)[0] ?? ''
    const place = pointerOf('paths', path, method)
    const operation = at(document, place)
    if (operation === undefined) return [`${method} ${path} is not in the document`]
    if (dryRun) return check(`${place}/x-dry-run-answer`, await response.json())
    const listed = [String(status), `${Math.floor(status / 100)}XX`].find(
      name => at(document, `${place}/responses/${name}`) !== undefined
    )
    if (listed === undefined) {
      return [
        `${method} ${path} answers ${status}, which the document does not list: ${await response.text()}`
      ]
    }
    const described = `${place}/responses/${listed}`
    const content = at(document, `${described}/content`) ?? {}
    const documented = Object.keys(content).find(type => matches(type, mediaType))
    if (documented === undefined) {
      return [
        `${method} ${path} ${status} is ${mediaType}; the document says ${Object.keys(content).join(', ')}`
      ]
    }
    seen.add(`${method} ${path} ${listed} ${documented}`)
    const undocumented = undocumentedHeaders(
      response,
      Object.keys(at(document, `${described}/headers`) ?? {})
    )
    const schema = `${described}/content/${escaped(documented)}/schema`
    if (at(document, schema) === undefined) {
      const bytes = await response.arrayBuffer()
      return bytes.byteLength === 0 ? [`${method} ${path} ${status} is empty`] : undocumented
    }
    if (mediaType === 'text/event-stream') {
      const text = await response.text()
      if (breaksOff(text)) seen.add(`${method} ${path} ${brokenStream}`)
      return [...undocumented, ...streamFindings(text, schema)]
    }
    const body: unknown = await response.json()
    return [
      ...undocumented,
      ...check(schema, body),
      ...codeFindings(body, at(document, `${described}/description`))
    ]
  }

  const streamFindings = (text: string, schema: string): string[] => {
    const messages = text.split('\n\n').filter(message => message !== '' && !message.startsWith(':'))
    const last = messages.at(-1)
    const found = messages.flatMap((message, index) => {
      const data = /^data: (.*)$/m.exec(message)?.[1] ?? ''
      if (data === '[DONE]') return message === last ? [] : [`[DONE] is message ${index}, and not the last`]
      const event = /^event: (.*)$/m.exec(message)?.[1]
      if (event === undefined || Reflect.get(Object(JSON.parse(data)), 'type') === event) {
        return check(schema, JSON.parse(data))
      }
      if (event !== 'error' || message !== last) {
        return [`an event ${event}, which the document does not know`]
      }
      return check(pointerOf('components', 'schemas', 'ErrorBody'), JSON.parse(data))
    })
    return messages.length < 2 ? ['a stream of no messages', ...found] : found
  }

  return {
    findings,
    missing: () => everyResponse(document).filter(place => !seen.has(place))
  }
}

const brokenStream = 'a stream that breaks off'

/** Returns true for a stream whose last event reports a failure. */
function breaksOff (text: string): boolean {
  const last = text.split('\n\n').findLast(message => message.startsWith('event: ')) ?? ''
  return /^event: (error|response\.failed)\n/.test(last)
}

/** Lists operations with their possible statuses and media types. */
function everyResponse (document: unknown): string[] {
  const paths = Object.entries(Object(at(document, '/paths')) as Fields)
  return paths.flatMap(([path, operations]) =>
    Object.entries(Object(operations) as Fields).flatMap(([method, operation]) => {
      const responses = Object.entries(Object(at(operation, '/responses')) as Fields)
      return responses.flatMap(([status, response]) => {
        const types = Object.keys(Object(at(response, '/content')) as Fields)
        return [
          ...types.map(type => `${status} ${type}`),
          ...(types.includes('text/event-stream') ? [brokenStream] : [])
        ].map(answer => `${method} ${path} ${answer}`)
      })
    })
  )
}

/** Every error code is listed in the description of its status. */
function codeFindings (body: unknown, description: unknown): string[] {
  const code = at(body, '/error/code')
  if (typeof code !== 'string' || !Object.hasOwn(codes, code)) return []
  return String(description).includes(`\`${code}\``) ? [] : [`${code} is not listed: ${String(description)}`]
}

/** Headers that belong to HTTP itself, or to the connection. */
const ordinary = new Set([
  'content-type',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'date',
  'cache-control',
  'allow',
  'vary',
  'x-accel-buffering',
  'x-content-type-options'
])

function undocumentedHeaders ({ headers, status }: Response, documented: readonly string[]): string[] {
  return [...headers.keys()].filter(name => !ordinary.has(name) && !documented.includes(name))
    .map(name => `the header ${name} of a ${status} is not in the document`)
}

function matches (documented: string, mediaType: string): boolean {
  return (
    documented === mediaType || (documented.endsWith('/*') && mediaType.startsWith(documented.slice(0, -1)))
  )
}

/**
 * The document with `additionalProperties: false` wherever properties are listed and nothing is said of
 * others.
 */
function closedCopy (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closedCopy)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, closedCopy(item)]))
  const isSchema = copy['type'] === 'object' && typeof copy['properties'] === 'object'
  return isSchema && !('additionalProperties' in copy) ? { ...copy, additionalProperties: false } : copy
}

function escaped (name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function pointerOf (...names: readonly string[]): string {
  return names.map(name => `/${escaped(name)}`).join('')
}

/** The value at a JSON pointer; undefined if there is none. */
function at (root: unknown, pointer: string): unknown {
  return pointer.split('/').slice(1).reduce<unknown>((value, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  }, root)
}

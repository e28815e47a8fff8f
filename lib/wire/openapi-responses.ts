/** Describes the answers and errors of an endpoint in the OpenAPI document, by status. */

import { codes, type ErrorCode } from '../core/errors.ts'
import { ErrorBody, ValidationErrorBody } from '../../schemas/errors.ts'
import type { EndpointDoc, AnswerDoc } from './endpoint-doc.ts'
import {
  budgetHeaders,
  errorHeaders,
  headersOf,
  isLimited,
  limitHeaders,
  refer,
  retryAfter
} from './openapi-headers.ts'
import { json, print, type Json, type Names } from './openapi-schemas.ts'

const alwaysPossible: readonly ErrorCode[] = ['internal_error', 'overloaded', 'shutting_down']

const withEveryKey: readonly ErrorCode[] = ['invalid_api_key']
const withKey: readonly ErrorCode[] = [...withEveryKey, 'insufficient_permissions']

/** Statuses in addition to those in the table. */
const otherStatuses: Partial<Record<ErrorCode, readonly number[]>> = {
  invalid_provider_key: [403],
  upstream_invalid_request: [404]
}

const withBody: readonly ErrorCode[] = [
  'invalid_json', 'request_timeout', 'file_too_large', 'too_many_values', 'unsupported_media_type'
]

function streamEnd ({ errorBody }: EndpointDoc): string {
  return errorBody === undefined
    ? 'The last message is `[DONE]`, or an event named `error` with an `ErrorBody`.'
    : 'An interrupted answer ends with an event that says so.'
}

/** Lists the responses by status; a status of both an answer and an error has either body. */
export function responsesOf (endpoint: EndpointDoc, names: Names): { [key: string]: Json } {
  const [errors, answers] = [errorsOf(endpoint, names), answersOf(endpoint, names)]
  const either = Object.entries(answers).map(([status, answer]) => [
    status,
    answerOrError(answer, errors[status])
  ])
  return { ...errors, ...Object.fromEntries(either) }
}

interface Response extends Readonly<Record<string, Json>> {
  description: string
  headers: { [key: string]: Json }
  content: { [key: string]: { schema?: Json } }
}

function answerOrError (answer: Response, error: Response | undefined): Response {
  if (error === undefined) return answer
  const schemas = [answer, error].flatMap(({ content }) => content[json]?.schema ?? [])
  return {
    description: `${answer.description}\n\n${error.description}`,
    headers: { ...answer.headers, ...error.headers },
    content: { ...answer.content, [json]: { schema: { anyOf: schemas } } }
  }
}

/** Merges answers with the same status into one response with several media types. */
function answersOf (endpoint: EndpointDoc, names: Names): Record<string, Response> {
  const statuses = new Map<number, AnswerDoc[]>()
  for (const answer of endpoint.answers) {
    const { status = 200 } = answer
    statuses.set(status, [...statuses.get(status) ?? [], answer])
  }
  return Object.fromEntries(
    [...statuses].map(([status, answers]) => [
      status,
      {
        description: answers
          .map(({ description, mediaType }) =>
            mediaType === 'text/event-stream' ? `${description} ${streamEnd(endpoint)}` : description
          )
          .join(' '),
        headers: refer({
          ...headersOf(endpoint),
          ...isLimited(endpoint) && limitHeaders,
          ...(status === 202 || status === 503) && retryAfter
        }),
        content: Object.fromEntries(
          answers.map(({ mediaType = json, schema }) => [
            mediaType,
            schema === undefined ? {} : { schema: print(schema, names) }
          ])
        )
      }
    ])
  )
}

/** Merges errors with the same status into one response that lists their codes. */
function errorsOf (endpoint: EndpointDoc, names: Names): Record<string, Response> {
  const { request, errors = [], open = false, admitsEveryKey = false, errorBody } = endpoint
  const possible = new Set([
    ...(open ? [] : admitsEveryKey ? withEveryKey : withKey),
    ...(request === undefined ? [] : withBody),
    ...errors,
    ...alwaysPossible
  ])
  const statuses = new Map<number, ErrorCode[]>()
  for (const code of possible) {
    for (const status of [codes[code].status, ...otherStatuses[code] ?? []]) {
      statuses.set(status, [...statuses.get(status) ?? [], code])
    }
  }
  const content = { [json]: { schema: print(errorBody ?? ErrorBody, names) } }
  const headers = { ...headersOf(endpoint), ...errorHeaders, ...isLimited(endpoint) && limitHeaders }
  const responses: Record<string, Response> = Object.fromEntries(
    [...statuses].map(([status, codesOfIt]) => [
      status,
      {
        description: codesOfIt.map(code => `\`${code}\`: ${codes[code].message}`).join('\n\n'),
        headers: refer({
          ...(status === 429 || status === 503) && retryAfter,
          ...status === 402 && isLimited(endpoint) && { ...retryAfter, ...budgetHeaders },
          ...headers,
          ...status === 503 && limitHeaders
        }),
        content
      }
    ])
  )
  responses['4XX'] = { description: otherRefusals(endpoint), headers: refer(headers), content }
  if (request === undefined || errorBody !== undefined) return responses
  return {
    ...responses,
    422: {
      description:
        '`invalid_value`, `invalid_type`, `missing_required_parameter`: A field of the request is missing or has a wrong value.',
      headers: refer(headersOf(endpoint)),
      content: { [json]: { schema: print(ValidationErrorBody, names) } }
    }
  }
}

/** Describes statuses of HTTP itself and of providers, which are too many to list. */
function otherRefusals ({ errors = [] }: EndpointDoc): string {
  const ofHttp = '`invalid_value`: An unknown expectation (417) or the host name of another service (421).'
  if (!errors.includes('upstream_invalid_request')) return ofHttp
  return [
    '`upstream_invalid_request`: The provider refused the request, with a status that the gateway passes on.',
    ofHttp
  ].join('\n\n')
}

/** Documents an endpoint; together with its schemas, this gives its part of the OpenAPI document. */

import type { TSchema } from 'typebox'
import type { ErrorCode } from '../core/errors.ts'

/** The documentation of one endpoint. */
export interface EndpointDoc {
  /** Unique; the method name in generated clients. */
  readonly operationId: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** In the router's syntax: `/v1/models/*model`. */
  readonly path: string
  readonly group: string
  readonly summary: string
  readonly request?: { readonly schema: TSchema, readonly mediaType?: string }
  readonly answers: readonly AnswerDoc[]
  /** Schemas of this endpoint that the document lists by name. */
  readonly named?: Readonly<Record<string, TSchema>>
  /** Error codes in addition to those of every endpoint. */
  readonly errors?: readonly ErrorCode[]
  /**
   * The body of its errors, including 400 for invalid request bodies. Default: `ErrorBody`, and 422 with
   * `ValidationErrorBody` for invalid request bodies.
   */
  readonly errorBody?: TSchema
  /** Query parameters, by name. */
  readonly query?: Readonly<
    Record<string, { readonly description: string, readonly type: 'string' | 'integer' | 'boolean' }>
  >
  /** Descriptions of headers that only this endpoint sends, errors included. */
  readonly headers?: Readonly<Record<string, string>>
  /** True if it needs no key. */
  readonly open?: boolean
  /** For an endpoint of the admin API: who may use it, instead of callers with a key. */
  readonly access?: 'open' | 'session' | 'administration'
  /** True if any key is accepted, whatever endpoints it may use. */
  readonly admitsEveryKey?: boolean
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** For endpoints that route: the answer to a dry run. */
  readonly dryRun?: TSchema
  /** True if it may call a provider. Default: true if there is a `dryRun`. */
  readonly routed?: boolean
}

export interface AnswerDoc {
  /** Default 200. */
  readonly status?: number
  readonly description: string
  /** Default `application/json`. For an event stream, the schema describes one message. */
  readonly mediaType?: string
  /** Absent for binary content. */
  readonly schema?: TSchema
}

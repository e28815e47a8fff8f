/** Stored responses as the dialect needs them; `stores/response-store` stores them. */

import type { ProviderAccount } from '../../core/call.ts'
import type { InputItem } from '../../../schemas/response-items.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'

/** A stored item; it always has an id. */
export type StoredItem = InputItem & { readonly id: string }

/** The provider account that stores a response. */
export interface ResponseOrigin extends ProviderAccount {
  /** The provider's id. */
  readonly responseId: string
}

/** A stored response that another one continues. */
export interface EarlierResponse {
  readonly id: string
  /** Absent if no provider stores it. */
  readonly origin?: ResponseOrigin | undefined
  /** The first response of the conversation. */
  readonly rootId: string
}

/** A continued response with its conversation. */
export interface Continuation extends EarlierResponse {
  /** Inputs and outputs since the first response of the conversation. */
  readonly items: readonly StoredItem[]
}

export interface FoundItem {
  readonly item: StoredItem
  /** Absent if no provider stores it. */
  readonly origin?: ResponseOrigin | undefined
}

/** A response to store. */
export interface ResponseToKeep {
  readonly keyId: string
  readonly previous?: EarlierResponse
  /** The end user of the caller's application. */
  readonly endUser?: string | undefined
  readonly origin?: ResponseOrigin | undefined
  readonly response: ResponseObject
  /** The items of its own input. */
  readonly input: readonly StoredItem[]
  /** Ids that the gateway generated for its items: only these can be referenced. */
  readonly itemIds: readonly string[]
  /** Placeholders in its texts with their values, sealed. Absent if there are none. */
  readonly placeholders?: string | undefined
}

/** Reserves memory before it is used, like `takeMemory` of a call. */
export type TakeMemory = (bytes: number) => void

export interface ResponseArchive {
  /** False if the operator stores nothing; responses then have `store: false`. */
  readonly keeps: boolean
  /** Maximum size of stored bodies and responses. */
  readonly maxBodyBytes: number
  /**
   * Returns a key's response with everything it continues; `undefined` if it is unknown or did not complete.
   *
   * @throws GatewayError `context_length_exceeded` if it is too long; `overloaded` if the store is
   *   unavailable
   */
  readonly continuation: (
    keyId: string,
    id: string,
    takeMemory?: TakeMemory
  ) => Promise<Continuation | undefined>
  /**
   * Returns the items among these that the gateway stored for a key, by id.
   *
   * @throws GatewayError as `continuation` does
   */
  readonly items: (
    keyId: string,
    ids: readonly string[],
    takeMemory?: TakeMemory
  ) => Promise<ReadonlyMap<string, FoundItem>>
  /** @throws GatewayError `file_too_large`, `overloaded`; `invalid_value` if what it continues is deleted */
  readonly keep: (response: ResponseToKeep) => Promise<void>
}

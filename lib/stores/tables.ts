/** The rows of the embedded store, as its tables hold them. Times are Unix milliseconds. */

/** A gateway key. Rows are never deleted, so that old ids in logs keep their name. */
export interface KeyRow {
  readonly id: string
  readonly name: string
  /** SHA-256 of the key, base64. */
  readonly digest: string
  /** JSON list of endpoint names; `null` means all. */
  readonly endpoints: string | null
  /** JSON list of model ids and patterns; `null` means all. */
  readonly models: string | null
  /** JSON list of slugs of MCP servers; `null` means all. */
  readonly mcp_servers: string | null
  /** 0 or 1; `null` means 1 for a key that may use all MCP servers, else 0. */
  readonly mcp_urls: number | null
  /** JSON of its `KeyLimits`; `null` means the default ones. */
  readonly limits: string | null
  readonly created_at_ms: number
  readonly expires_at_ms: number | null
  readonly revoked_at_ms: number | null
}

/** A secret of the gateway itself, the same for every process that shares the store. */
export interface SecretRow {
  readonly name: string
  /** base64 */
  readonly value: string
}

/** One deferred completion: while it runs, and until its answer expires. */
export interface DeferredRow {
  /** SHA-256 of the id the caller has, base64url. */
  readonly id: string
  /** `fetching` at a provider; `queued` or `running` here; `done`. */
  readonly state: 'fetching' | 'queued' | 'running' | 'done'
  /** The process that fetches or runs it. */
  readonly owner: string | null
  /** The time from which its owner counts as dead. */
  readonly lease_until_ms: number
  /** JSON of the call to run, without credentials; gone once it is done. */
  readonly task: string | null
  /** HTTP status and JSON body of the answer. */
  readonly status: number | null
  readonly body: string | null
  readonly expires_at_ms: number
  /** Id of the key that deferred it; `null` in rows of earlier versions. */
  readonly key_id: string | null
  /** Size of `task` or `body` in UTF-8: adding sizes up reads no text. */
  readonly size_bytes: number
  /** Processes that began to run it and did not give it back. */
  readonly attempts: number
}

/**
 * One call with a valid key: what it used and what it cost. `null` means not reported, which is
 * not zero. No prompt and no answer is in here.
 */
export interface UsageRow {
  /** Id of the row itself: callers choose the ids of their calls and may repeat one. */
  readonly id: string
  /** The `x-request-id` of the answer. */
  readonly call_id: string
  /** The time at which the call was accepted. */
  readonly at_ms: number
  readonly key_id: string
  readonly endpoint: string
  readonly requested_model: string | null
  readonly model: string | null
  readonly provider: string | null
  readonly outcome: string
  readonly status: number | null
  readonly error_code: string | null
  /** 0 or 1, like every boolean here. */
  readonly streamed: number
  readonly attempts: number
  /** Turns of a tool loop. */
  readonly turns: number | null
  readonly prompt_tokens: number | null
  readonly completion_tokens: number | null
  /** Part of `prompt_tokens`. */
  readonly cached_tokens: number | null
  /** Part of `prompt_tokens`. */
  readonly cache_write_tokens: number | null
  /** Searches of the web. */
  readonly searches: number | null
  /** Part of `completion_tokens`. */
  readonly reasoning_tokens: number | null
  /** 1 when the usage, and so the cost, is an estimate of the gateway. */
  readonly estimated: number
  readonly pages: number | null
  readonly audio_ms: number | null
  readonly characters: number | null
  readonly images: number | null
  readonly image_size: string | null
  readonly image_quality: string | null
  /** Billionths of a dollar, at the price of that moment; `null` where no price is known. */
  readonly cost_nano_usd: number | null
  /** 1 when the caller brought their own key for the provider, who bills them. */
  readonly own_provider_key: number
  readonly duration_ms: number
  readonly first_byte_ms: number | null
}

/**
 * The cost of all calls of a key on one day, pruned rows included: budgets read this, so a reading
 * takes as many rows as the period has days.
 */
export interface SpendingRow {
  readonly key_id: string
  /** The first millisecond of the day, UTC. */
  readonly day_ms: number
  readonly cost_nano_usd: number
}

/** A gateway that uses the store and has keys with budgets. */
export interface GatewayRow {
  readonly id: string
  /** Its last sign of life. */
  readonly seen_ms: number
}

/** The amount a gateway holds of a budget while another one uses the store as well. */
export interface HoldingRow {
  readonly gateway_id: string
  readonly key_id: string
  /** The first millisecond of the period. */
  readonly from_ms: number
  readonly nano_usd: number
}

/** A stored response of the Responses API, from when its work begins in the background or from its end. */
export interface ResponseRow {
  readonly id: string
  /** Id of the key that it belongs to. */
  readonly key_id: string
  /** The response that it continues. */
  readonly previous_id: string | null
  /** The first response of the conversation; its own id where it is that. */
  readonly root_id: string
  readonly status: string
  /** JSON of the response as its caller gets it. */
  readonly response: string
  /** JSON list of the items of its own input. */
  readonly input: string
  /** Size of both in UTF-8. */
  readonly size_bytes: number
  readonly created_at_ms: number
  /** From then on it is only there for those that continue it; 0 when it was deleted. */
  readonly expires_at_ms: number
  /** The process that works on it in the background. */
  readonly owner: string | null
  /** The time from which its owner counts as dead. */
  readonly lease_until_ms: number
}

/** Finds the response that contains an item by the id that the gateway made for it. */
export interface ResponseItemRow {
  readonly key_id: string
  readonly item_id: string
  readonly response_id: string
}

/** Some events of the stream of a background response. */
export interface ResponseEventRow {
  readonly response_id: string
  /** The number of the first of them. */
  readonly sequence_number: number
  /** Their frames, as they are sent. */
  readonly frame: string
}

export interface Tables {
  responses: ResponseRow
  response_items: ResponseItemRow
  response_events: ResponseEventRow
  keys: KeyRow
  secrets: SecretRow
  deferred: DeferredRow
  usage: UsageRow
  spending: SpendingRow
  gateways: GatewayRow
  holdings: HoldingRow
}

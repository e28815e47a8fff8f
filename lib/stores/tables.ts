/** The rows of the store's tables. Times are Unix milliseconds. */

import type { Generated, Selectable } from 'kysely'
import type { AttributionName } from '../../schemas/admin/usage.ts'
import type { UnitColumn } from '../../schemas/billed-units.ts'
import type { Role } from '../../schemas/admin/common.ts'

/** A gateway key. Rows are never deleted, so that ids in old logs keep their name. */
export interface KeyTable {
  readonly id: string
  readonly name: string
  /** SHA-256 of the key, base64. */
  readonly digest: string
  /** JSON list of endpoint names; `null` means all. */
  readonly endpoints: string | null
  /** JSON list of model ids and patterns; `null` means all. */
  readonly models: string | null
  /** JSON list of tool server slugs; `null` means all. */
  readonly mcp_servers: string | null
  /** 0 or 1; `null` means 1 for a key that may use all tool servers, else 0. */
  readonly mcp_urls: number | null
  /**
   * 1 if the key may use files, containers and threads in the gateway's accounts at providers; else 0 or
   * `null`.
   */
  readonly provider_objects: number | null
  /** JSON list of the guards that inspect its calls; `null` means none. */
  readonly stages: string | null
  /** JSON of its `PartyLimits`; `null` means the defaults. */
  readonly limits: string | null
  readonly created_at_ms: number
  readonly expires_at_ms: number | null
  readonly revoked_at_ms: number | null
  readonly project_id: Generated<string>
  /** Id of the user who owns it; `null` without an owner. */
  readonly owner_id: string | null
  /** Its first and last characters, shown so that people recognise it; `null` in rows of earlier versions. */
  readonly hint: string | null
  /** Id of the user or admin key that created it. */
  readonly created_by: string | null
  /** 1 for a key that lists omit, else `null`. */
  readonly temporary: number | null
  /**
   * JSON list of `LimitingField`s that an admin has set and members may not change; `null` in rows of earlier
   * versions.
   */
  readonly set_by_admin: string | null
  /** Incremented with every change, so that all processes notice. */
  readonly changes: Generated<number>
  /** The digest before the last rotation, which works until `previous_until_ms`. */
  readonly previous_digest: string | null
  readonly previous_until_ms: number | null
}

export type KeyRow = Selectable<KeyTable>

/** A group of keys with members and shared limits. */
export interface ProjectRow {
  readonly id: string
  readonly name: string
  /** JSON list of model ids and patterns; `null` means all. */
  readonly models: string | null
  /** JSON list of the guards that inspect calls of its keys; `null` means none. */
  readonly stages: string | null
  /** JSON of the `PartyLimits` that all its keys share. */
  readonly limits: string | null
  readonly created_at_ms: number
  readonly archived_at_ms: number | null
}

export interface UserRow {
  readonly id: string
  readonly name: string
  /** In lower case. */
  readonly email: string | null
  readonly role: Role
  /** 1 if someone else changed the email: it no longer proves who the user is. */
  readonly email_by_other: number | null
  /** Scrypt hash with its parameters; `null` without a password. */
  readonly password: string | null
  readonly created_at_ms: number
  /** Written at most once a minute. */
  readonly last_seen_at_ms: number | null
  readonly disabled_at_ms: number | null
  /** JSON of the `PartyLimits` that all keys of the user share. */
  readonly limits: string | null
}

export interface MemberRow {
  readonly project_id: string
  readonly user_id: string
  readonly added_at_ms: number
}

/** An active sign-in of a user. */
export interface SessionRow {
  /** SHA-256 of the cookie, base64. */
  readonly digest: string
  readonly id: string
  readonly user_id: string
  /** SHA-256 of the token that the page holds, base64. */
  readonly csrf_token: string
  /** 1 if it began with a one-time link: its user may set a password without the old one. */
  readonly by_link: number
  readonly address: string | null
  readonly user_agent: string | null
  readonly created_at_ms: number
  readonly last_seen_at_ms: number
  readonly expires_at_ms: number
}

export interface SignInLinkRow {
  readonly digest: string
  readonly user_id: string
  readonly expires_at_ms: number
}

/** The public half of a key pair on a user's device. */
export interface PasskeyRow {
  readonly id: string
  readonly user_id: string
  readonly name: string
  /** The id from the device, base64url. */
  readonly credential_id: string
  /** COSE, base64url. */
  readonly public_key: string
  /** The device's signature counter; 0 if it has none. */
  readonly uses: number
  /** The host name it is for. */
  readonly host: string
  readonly created_at_ms: number
  readonly last_used_at_ms: number | null
  /** The origin of the page that created it; `null` for passkeys of earlier versions. */
  readonly origin: string | null
}

/** A user's identity at an OpenID Connect provider. */
export interface IdentityRow {
  readonly issuer: string
  readonly subject: string
  readonly user_id: string
  readonly created_at_ms: number
}

/**
 * A pending sign-in or registration that started in a browser and continues on a device or at an identity
 * provider.
 */
export interface ChallengeRow {
  readonly id: string
  readonly purpose: string
  /** SHA-256 of a secret that only that browser has, base64. */
  readonly holder: string
  /** The network of an anonymous visitor who started it; `null` with a session. */
  readonly network: string | null
  readonly content: string
  readonly expires_at_ms: number
}

export interface InvitationRow {
  readonly id: string
  readonly digest: string
  readonly email: string | null
  readonly role: Role
  /** JSON list of ids. */
  readonly projects: string
  /** Name of the user. */
  readonly invited_by: string
  readonly created_at_ms: number
  readonly expires_at_ms: number
}

export interface AdminKeyRow {
  readonly id: string
  readonly name: string
  readonly digest: string
  readonly role: Role
  /** JSON list; `null` means all that the role allows. */
  readonly scopes: string | null
  readonly created_by: string | null
  readonly created_at_ms: number
  readonly expires_at_ms: number | null
  readonly last_used_at_ms: number | null
}

/** An administrative action. Rows are never changed. */
export interface AuditRow {
  readonly id: string
  readonly at_ms: number
  readonly actor: string
  readonly actor_id: string | null
  readonly action: string
  readonly subject: string | null
  readonly subject_name: string | null
  readonly address: string | null
  /** JSON of the changed fields, without secrets. */
  readonly before: string | null
  readonly after: string | null
}

/** The answer to a request with an `Idempotency-Key`. */
export interface IdempotentAnswerRow {
  /** SHA-256 of the caller and the key. */
  readonly id: string
  /** SHA-256 of the route and the body. */
  readonly request: string
  /**
   * Sealed with a secret that only the caller has, because it may contain a new key. `null` while the request
   * is in flight.
   */
  readonly answer: string | null
  readonly expires_at_ms: number
}

/** An imported object, by its id at the source, so that a later import recognises it. */
export interface ImportedRow {
  /** `litellm` */
  readonly source: string
  readonly kind: 'project' | 'user' | 'key'
  /** SHA-256 of its id at the source, base64; for a key, its digest. */
  readonly source_id: string
  /** Its id here. */
  readonly id: string
  /** When an import revoked it, which a later import may undo; `null` while active. */
  readonly revoked_at_ms: number | null
  /** JSON: spending at the source in billionths of a dollar, by start of period. */
  readonly spent: string
}

/** A secret of the gateway, shared by all processes on the store. */
export interface SecretRow {
  readonly name: string
  /** base64 */
  readonly value: string
}

/** A deferred completion: while it runs, and until its answer expires. */
export interface DeferredRow {
  /** SHA-256 of the id that the caller has, base64url. */
  readonly id: string
  /** `fetching` at a provider; `queued` or `running` here; `done`. */
  readonly state: 'fetching' | 'queued' | 'running' | 'done'
  /** The process that fetches or runs it, or last did. */
  readonly owner: string | null
  /** When its owner is considered dead. */
  readonly lease_until_ms: number
  /**
   * JSON of the call to run, without credentials; removed once done. Like all potentially long texts, see
   * `long-texts`.
   */
  readonly task: string | null
  /** HTTP status and JSON body of the answer. */
  readonly status: number | null
  readonly body: string | null
  readonly expires_at_ms: number
  /** Id of the key that deferred it; `null` in rows of earlier versions. */
  readonly key_id: string | null
  /** UTF-8 size of `task` or `body`, so that summing sizes reads no text. */
  readonly size_bytes: number
  /** Number of processes that started it and did not return it. */
  readonly attempts: number
  /** The user of the caller's application; `null` if not named. */
  readonly end_user: string | null
}

/**
 * One call with a valid key: its usage and cost. `null` means not reported, which differs from zero. Contains
 * no prompts or answers.
 */
export interface UsageRow extends Readonly<Record<UnitColumn, number | null>> {
  /** The row's own id: callers choose the ids of their calls and may repeat one. */
  readonly id: string
  /** The `x-request-id` of the answer. */
  readonly call_id: string
  /** When the call was accepted. */
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
  /** 1 if the usage, and so the cost, is an estimate of the gateway. */
  readonly estimated: number
  readonly image_size: string | null
  readonly image_quality: string | null
  /** Billionths of a dollar at the price of the time; `null` if no price is known. */
  readonly cost_nano_usd: number | null
  /** Tokens of requests whose answers were not used, included in the totals; `null` for none. */
  readonly wasted_tokens: number | null
  /** The cost of these tokens, included in the total. */
  readonly wasted_nano_usd: number | null
  /** 1 if the caller used their own provider key, so the provider bills them. */
  readonly own_provider_key: number
  readonly duration_ms: number
  readonly first_byte_ms: number | null
  /** JSON of `CallSteps`; `null` if the other columns tell everything. */
  readonly steps: string | null
  /** 1 for an answer from the cache, else `null`. */
  readonly cached: number | null
  /** JSON of what guards did, as printed by `usage/guard-notes`; `null` if no guard ran. */
  readonly findings: string | null
  /** The user of the caller's application. */
  readonly end_user: string | null
  readonly session: string | null
  /** JSON list of strings. */
  readonly tags: string | null
  /** JSON object of strings. */
  readonly metadata: string | null
  /** JSON list of the parties whose budgets it counts in, in addition to its key, project and owner. */
  readonly parties: string | null
}

/** The cost of the calls of a party of `usage.parties` in a quarter of an hour or a day. */
export interface PartySpendingRow {
  readonly span_ms: number
  readonly party: string
  readonly from_ms: number
  readonly cost_nano_usd: number
}

/**
 * The cost of all calls of a key on one day, including pruned rows. Budgets read this, so a reading takes one
 * row per day of the period.
 */
export interface SpendingRow {
  readonly key_id: string
  /** Start of the day, UTC. */
  readonly day_ms: number
  readonly cost_nano_usd: number
}

/** The sums of some calls. */
export interface CallSums extends Readonly<Record<UnitColumn, number>> {
  readonly calls: number
  /** Calls that ended with an error or a refusal, or crashed with their process. */
  readonly errors: number
  /** Calls whose client disconnected. */
  readonly cancelled: number
  /** Calls with an estimated cost. */
  readonly estimated_calls: number
  /** Calls of unknown cost, because their model has no price. */
  readonly unpriced_calls: number
  readonly cost_nano_usd: number
  /** Durations of complete calls as printed by `Durations`; `null` for none. */
  readonly latencies: string | null
  /** Their times to first byte. */
  readonly first_bytes: string | null
}

/**
 * The sums of an hour or a day, by key, model, provider and endpoint. Updated with the rows, so that a report
 * reads thousands of rows instead of millions. Missing texts are empty strings.
 */
export interface UsageRollupRow extends CallSums {
  /** Length of the hour or day. */
  readonly span_ms: number
  /** Its start. */
  readonly from_ms: number
  readonly key_id: string
  readonly model: string
  readonly provider: string
  readonly endpoint: string
}

/** The daily sums of calls with an end user, session or tag, by project. */
export interface NameRollupRow extends CallSums {
  readonly kind: AttributionName | 'tagged'
  /** Start of the day, UTC. */
  readonly from_ms: number
  readonly project_id: string
  /** `(other)` for names that are not distinguished; empty for the sum over all names. */
  readonly name: string
  /** For tags only; otherwise empty. */
  readonly model: string
}

/** A name that is distinguished in the sums of a month or a day. */
export interface CountedNameRow {
  readonly kind: AttributionName
  /** Its start. */
  readonly from_ms: number
  readonly project_id: string
  /** `(other)` if the period accepts no more names. */
  readonly name: string
}

/**
 * The usage row, by time and id, before which records are not yet in the sums by name. One row while an older
 * store is being summed up, else none.
 */
export interface RollupBacklogRow {
  readonly at_ms: number
  readonly id: string
}

/** The stored request and answer of a call. */
export interface CallBodiesRow {
  /** Id of its usage row. */
  readonly id: string
  /** The project whose configuration requested it. */
  readonly project_id: string
  /** The lowest role that may read them. */
  readonly readable_by: Role
  readonly expires_at_ms: number
  /** `storing` until all texts are stored; `dropped` if there was no memory for them. */
  readonly state: 'storing' | 'kept' | 'dropped' | 'expired'
  /** JSON of a `CallBody`, as stored by `long-texts`; `null` for none. */
  readonly request: string | null
  readonly answer: string | null
}

/** A gateway that uses the store and has keys with budgets. */
export interface GatewayRow {
  readonly id: string
  /** Its last heartbeat. */
  readonly seen_ms: number
}

/** The amount of a budget that a gateway has reserved while another one uses the store. */
export interface HoldingRow {
  readonly gateway_id: string
  readonly key_id: string
  /** Start of the period. */
  readonly from_ms: number
  readonly nano_usd: number
}

/** A stored response of the Responses API: from the start of its background work, or from its end. */
export interface ResponseRow {
  readonly id: string
  readonly key_id: string
  /** The response it continues. */
  readonly previous_id: string | null
  /** The first response of the conversation, possibly itself. */
  readonly root_id: string
  readonly status: string
  /** JSON of the response as sent to the caller. */
  readonly response: string
  /** JSON list of the items of its own input. */
  readonly input: string
  /** UTF-8 size of both. */
  readonly size_bytes: number
  /** Size of related data: stream frames, item ids and origin. */
  readonly stream_bytes: Generated<number>
  readonly created_at_ms: number
  /** Afterwards only responses that continue it can use it; 0 if it was deleted. */
  readonly expires_at_ms: number
  /** JSON of where a provider keeps it too. */
  readonly origin: string | null
  /** The user of the caller's application; `null` if not named. */
  readonly end_user: string | null
  /** The process that works on it in the background. */
  readonly owner: string | null
  /** When its owner is considered dead. */
  readonly lease_until_ms: number
}

/** Finds the response that contains an item, by the item id that the gateway created. */
export interface ResponseItemRow {
  readonly key_id: string
  readonly item_id: string
  readonly response_id: string
}

/** Some events of a background response's stream. */
export interface ResponseEventRow {
  readonly response_id: string
  /** The number of the first event. */
  readonly sequence_number: number
  /** Their frames, as sent. */
  readonly frame: string
}

/** A piece of a text that is too long for its row. */
export interface TextPieceRow {
  /** Id of the owning row: a response, a deferred completion or a call's bodies. */
  readonly owner_id: string
  readonly name: string
  readonly number: number
  readonly piece: string
}

/** A process's claim to work that must be done by only one process on the store. */
export interface LeaseRow {
  readonly name: string
  readonly until_ms: number
}

/** An alert, which is sent once to each channel, whichever process raised it. */
export interface AlertRow {
  /** A digest of its subject. */
  readonly id: string
  readonly event: string
  readonly at_ms: number
  readonly message: string
  /** JSON of its data. */
  readonly data: string
  /** When a rule last found it, rounded to the day. */
  readonly raised_ms: number
}

/** The delivery of an alert to a configured channel. */
export interface AlertDeliveryRow {
  readonly alert_id: string
  readonly channel: string
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  /** When it may be tried; while a process tries it, when that lease ends. */
  readonly next_at_ms: number
  readonly error: string | null
  readonly delivered_at_ms: number | null
}

/** A lasting problem, such as a provider that is down. */
export interface AlertConditionRow {
  readonly name: string
  readonly since_ms: number
  /** When it was last not known to be over. */
  readonly seen_ms: number
}

/** A file of usage rows: one period for one configured target. */
export interface UsageExportRow {
  readonly target: string
  readonly from_ms: number
  /** Exclusive. */
  readonly until_ms: number
  /** `writing` while a process writes it, until its lease ends. */
  readonly state: 'waiting' | 'writing' | 'written'
  readonly file: string | null
  /** How often it was written. */
  readonly revision: number
  readonly rows: number
  /** The sums of its records before it was last written, as in `window-sums`. */
  readonly calls: number
  readonly bytes: number
  readonly sums: string | null
  /** Attempts since it was last written. */
  readonly attempts: number
  /** When it may be written; while a process writes it, when that lease ends. */
  readonly next_at_ms: number
  readonly error: string | null
  readonly written_at_ms: number | null
}

export interface Tables {
  projects: ProjectRow
  users: UserRow
  members: MemberRow
  imported: ImportedRow
  sessions: SessionRow
  sign_in_links: SignInLinkRow
  passkeys: PasskeyRow
  identities: IdentityRow
  challenges: ChallengeRow
  invitations: InvitationRow
  admin_keys: AdminKeyRow
  audit: AuditRow
  idempotent_answers: IdempotentAnswerRow
  responses: ResponseRow
  response_items: ResponseItemRow
  response_events: ResponseEventRow
  text_pieces: TextPieceRow
  keys: KeyTable
  secrets: SecretRow
  deferred: DeferredRow
  usage: UsageRow
  usage_rollups: UsageRollupRow
  name_rollups: NameRollupRow
  counted_names: CountedNameRow
  rollup_backlog: RollupBacklogRow
  call_bodies: CallBodiesRow
  spending: SpendingRow
  party_spending: PartySpendingRow
  gateways: GatewayRow
  holdings: HoldingRow
  leases: LeaseRow
  alerts: AlertRow
  alert_deliveries: AlertDeliveryRow
  alert_conditions: AlertConditionRow
  usage_exports: UsageExportRow
}

/** The rows of the embedded store, as its tables hold them. Times are Unix milliseconds. */

import type { Generated, Selectable } from 'kysely'
import type { AttributionName } from '../../schemas/admin/usage.ts'
import type { UnitColumn } from '../../schemas/billed-units.ts'
import type { Role } from '../../schemas/admin/common.ts'

/** A gateway key. Rows are never deleted, so that old ids in logs keep their name. */
export interface KeyTable {
  readonly id: string
  readonly name: string
  /** SHA-256 of the key, base64. */
  readonly digest: string
  /** JSON list of endpoint names; `null` means all. */
  readonly endpoints: string | null
  /** JSON list of model ids and patterns; `null` means all. */
  readonly models: string | null
  /** JSON list of slugs of tool servers; `null` means all. */
  readonly mcp_servers: string | null
  /** 0 or 1; `null` means 1 for a key that may use all tool servers, else 0. */
  readonly mcp_urls: number | null
  /**
   * 1 for a key that may use files, containers and threads in the gateway's accounts at providers; else 0 or
   * `null`.
   */
  readonly provider_objects: number | null
  /** JSON list of names of stages that look at its calls; `null` means none. */
  readonly stages: string | null
  /** JSON of its `KeyLimits`; `null` means the default ones. */
  readonly limits: string | null
  readonly created_at_ms: number
  readonly expires_at_ms: number | null
  readonly revoked_at_ms: number | null
  readonly project_id: Generated<string>
  /** Id of the user who owns it; `null` for one that nobody does. */
  readonly owner_id: string | null
  /** Its first and last characters, by which people know it; `null` in rows of earlier versions. */
  readonly hint: string | null
  /** Id of the user or admin key that created it. */
  readonly created_by: string | null
  /** 1 for a key that lists leave out, else `null`. */
  readonly temporary: number | null
  /**
   * JSON list of `LimitingField`s that an admin has set and members may not change; `null` in rows of earlier
   * versions.
   */
  readonly set_by_admin: string | null
  /** Counts its changes, so that every process notices them. */
  readonly changes: Generated<number>
  /** The digest before the last rotation, which works until `previous_until_ms`. */
  readonly previous_digest: string | null
  readonly previous_until_ms: number | null
}

export type KeyRow = Selectable<KeyTable>

/** A group of keys with members, and with limits of its own. */
export interface ProjectRow {
  readonly id: string
  readonly name: string
  /** JSON list of model ids and patterns; `null` means all. */
  readonly models: string | null
  /** JSON list of names of stages that look at calls of its keys; `null` means none. */
  readonly stages: string | null
  /** JSON of the `KeyLimits` of all its keys together. */
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
  /** 1 when someone else has changed the email: it proves nothing about who the user is. */
  readonly email_by_other: number | null
  /** Its scrypt hash with the parameters; `null` for none. */
  readonly password: string | null
  readonly created_at_ms: number
  /** Written every minute at most. */
  readonly last_seen_at_ms: number | null
  readonly disabled_at_ms: number | null
  /** JSON of the `KeyLimits` of all keys that they own together. */
  readonly limits: string | null
}

export interface MemberRow {
  readonly project_id: string
  readonly user_id: string
  readonly added_at_ms: number
}

/** A sign-in of a user that has not ended. */
export interface SessionRow {
  /** SHA-256 of the cookie, base64. */
  readonly digest: string
  readonly id: string
  readonly user_id: string
  /** SHA-256 of the token that the page keeps, base64. */
  readonly csrf_token: string
  /** 1 when it began with a one-time link: its user may set a password without the one before. */
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

/** A key pair of a user's device, of which this is the public half. */
export interface PasskeyRow {
  readonly id: string
  readonly user_id: string
  readonly name: string
  /** The id that the device gave it, base64url. */
  readonly credential_id: string
  /** COSE, base64url. */
  readonly public_key: string
  /** Uses that the device has counted; 0 for one that does not. */
  readonly uses: number
  /** The host name that it is for. */
  readonly host: string
  readonly created_at_ms: number
  readonly last_used_at_ms: number | null
  /** The origin of the page that it was made on; `null` for one of an earlier version. */
  readonly origin: string | null
}

/** A user as a provider of OpenID Connect knows them. */
export interface IdentityRow {
  readonly issuer: string
  readonly subject: string
  readonly user_id: string
  readonly created_at_ms: number
}

/**
 * A sign-in or a registration that has begun in a browser and goes on elsewhere: at a device, or at a
 * provider of identities.
 */
export interface ChallengeRow {
  readonly id: string
  readonly purpose: string
  /** SHA-256 of what only that browser has, base64. */
  readonly holder: string
  /** The network of a stranger who began it; `null` for one who has a session. */
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

/** A key of the admin API. */
export interface AdminKeyRow {
  readonly id: string
  readonly name: string
  readonly digest: string
  readonly role: Role
  /** JSON list; `null` means all that the role may do. */
  readonly scopes: string | null
  readonly created_by: string | null
  readonly created_at_ms: number
  readonly expires_at_ms: number | null
  readonly last_used_at_ms: number | null
}

/** An administrative act. Rows are never changed. */
export interface AuditRow {
  readonly id: string
  readonly at_ms: number
  readonly actor: string
  readonly actor_id: string | null
  readonly action: string
  readonly subject: string | null
  readonly subject_name: string | null
  readonly address: string | null
  /** JSON of what changed, without secrets. */
  readonly before: string | null
  readonly after: string | null
}

/** The answer to a request with an `Idempotency-Key`. */
export interface IdempotentAnswerRow {
  /** SHA-256 of the caller and the key. */
  readonly id: string
  /** SHA-256 of the route and the body. */
  readonly request: string
  /** Sealed by what only the caller has: it may hold a new key. `null` while the request is in flight. */
  readonly answer: string | null
  readonly expires_at_ms: number
}

/** An imported object, by its id at the source, so that a later import finds it again. */
export interface ImportedRow {
  /** `litellm` */
  readonly source: string
  readonly kind: 'project' | 'user' | 'key'
  /** SHA-256 of its id there, base64; of a key, its digest. */
  readonly source_id: string
  /** Its id here. */
  readonly id: string
  /** The time at which an import revoked it, which a later one may undo; `null` while it is active. */
  readonly revoked_at_ms: number | null
  /** JSON: what was spent there, in billionths of a dollar, by the beginning of the period. */
  readonly spent: string
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
  /** The process that fetches or runs it, or did. */
  readonly owner: string | null
  /** The time from which its owner counts as dead. */
  readonly lease_until_ms: number
  /**
   * JSON of the call to run, without credentials; gone once it is done. As all texts here that may be long,
   * see `long-texts`.
   */
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
  /** The user of the caller's application; `null` where it named none. */
  readonly end_user: string | null
}

/**
 * One call with a valid key: what it used and what it cost. `null` means not reported, which is
 * not zero. No prompt and no answer is in here.
 */
export interface UsageRow extends Readonly<Record<UnitColumn, number | null>> {
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
  /** 1 when the usage, and so the cost, is an estimate of the gateway. */
  readonly estimated: number
  readonly image_size: string | null
  readonly image_quality: string | null
  /** Billionths of a dollar, at the price of that moment; `null` where no price is known. */
  readonly cost_nano_usd: number | null
  /** The part of the tokens that requests used which were given up, of whatever model; `null` for none. */
  readonly wasted_tokens: number | null
  /** The part of the cost that these have. */
  readonly wasted_nano_usd: number | null
  /** 1 when the caller brought their own key for the provider, who bills them. */
  readonly own_provider_key: number
  readonly duration_ms: number
  readonly first_byte_ms: number | null
  /** JSON of `CallSteps`; `null` for a call that the other columns say all of. */
  readonly steps: string | null
  /** 1 for an answer from the cache, else `null`. */
  readonly cached: number | null
  /** JSON of what stages did, as `usage/guard-notes` prints it; `null` where none looked. */
  readonly findings: string | null
  /** The user of the caller's application. */
  readonly end_user: string | null
  readonly session: string | null
  /** JSON list of texts. */
  readonly tags: string | null
  /** JSON object of texts. */
  readonly metadata: string | null
  /** JSON list of the parties beside its key, project and member whose budgets it counts in. */
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
 * The cost of all calls of a key on one day, pruned rows included: budgets read this, so a reading
 * takes as many rows as the period has days.
 */
export interface SpendingRow {
  readonly key_id: string
  /** The first millisecond of the day, UTC. */
  readonly day_ms: number
  readonly cost_nano_usd: number
}

/** The sums of some calls. */
export interface CallSums extends Readonly<Record<UnitColumn, number>> {
  readonly calls: number
  /** Calls that ended with an error, a refusal included, or with their process. */
  readonly errors: number
  /** Calls whose client disconnected. */
  readonly cancelled: number
  /** Calls whose cost is an estimate. */
  readonly estimated_calls: number
  /** Calls of unknown cost: their model has no price. */
  readonly unpriced_calls: number
  readonly cost_nano_usd: number
  /** Durations of complete calls as `Durations` prints them; `null` for none. */
  readonly latencies: string | null
  /** Their times to the first byte. */
  readonly first_bytes: string | null
}

/**
 * The sums of the calls of an hour or a day, by key, model, provider and endpoint: written with the rows, so
 * that a report reads some thousands of these where it would read millions of those. A text that a row has
 * not is empty here.
 */
export interface UsageRollupRow extends CallSums {
  /** The length of the hour or the day. */
  readonly span_ms: number
  /** Its first millisecond. */
  readonly from_ms: number
  readonly key_id: string
  readonly model: string
  readonly provider: string
  readonly endpoint: string
}

/** The sums of the calls of a day that name an end user, a session or a tag, by project. */
export interface NameRollupRow extends CallSums {
  readonly kind: AttributionName | 'tagged'
  /** The first millisecond of the day, UTC. */
  readonly from_ms: number
  readonly project_id: string
  /** `(other)` for names beyond those that are distinguished; empty for the sum of all names. */
  readonly name: string
  /** Of tags; empty for others. */
  readonly model: string
}

/** A name that is distinguished in the sums of a month or a day. */
export interface CountedNameRow {
  readonly kind: AttributionName
  /** Its first millisecond. */
  readonly from_ms: number
  readonly project_id: string
  /** `(other)`: the names of the period are all taken. */
  readonly name: string
}

/**
 * The usage row, by time and id, before which records are not yet in the sums by names. One row while a
 * store of an earlier version is summed up, else none.
 */
export interface RollupBacklogRow {
  readonly at_ms: number
  readonly id: string
}

/** The request and the answer of a call that are kept. */
export interface CallBodiesRow {
  /** Id of its usage row. */
  readonly id: string
  /** The project whose configuration said so. */
  readonly project_id: string
  /** The least role that may read them. */
  readonly readable_by: Role
  readonly expires_at_ms: number
  /** `storing` while its texts are not all there; `dropped`: there was no memory for them. */
  readonly state: 'storing' | 'kept' | 'dropped' | 'expired'
  /** JSON of a `CallBody`, as `long-texts` keeps it; `null` for none. */
  readonly request: string | null
  readonly answer: string | null
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
  /** Size of what is stored beside them: the frames of its stream, the ids of its items, its origin. */
  readonly stream_bytes: Generated<number>
  readonly created_at_ms: number
  /** From then on it is only there for those that continue it; 0 when it was deleted. */
  readonly expires_at_ms: number
  /** JSON of where a provider keeps it as well. */
  readonly origin: string | null
  /** The user of the caller's application; `null` where it named none. */
  readonly end_user: string | null
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

/** A part of a text that is too long for its row. */
export interface TextPieceRow {
  /** Id of the row that it belongs to: of a response, a deferred completion or the bodies of a call. */
  readonly owner_id: string
  readonly name: string
  readonly number: number
  readonly piece: string
}

/** A claim of one process to work that all processes on the store would do, until it ends. */
export interface LeaseRow {
  readonly name: string
  readonly until_ms: number
}

/** An alert, which is sent once to each channel, whichever process noticed. */
export interface AlertRow {
  /** The digest of what it is about. */
  readonly id: string
  readonly event: string
  readonly at_ms: number
  readonly message: string
  /** JSON of its facts. */
  readonly data: string
  /** When a rule last found it, to the day. */
  readonly raised_ms: number
}

/** The sending of an alert to a channel of the configuration. */
export interface AlertDeliveryRow {
  readonly alert_id: string
  readonly channel: string
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  /** The time from which it may be tried; while a process tries it, the time at which its lease ends. */
  readonly next_at_ms: number
  readonly error: string | null
  readonly delivered_at_ms: number | null
}

/** Something that goes wrong for a while, such as a provider that is down. */
export interface AlertConditionRow {
  readonly name: string
  readonly since_ms: number
  /** The last time at which it was not known to be over. */
  readonly seen_ms: number
}

/** A file of usage rows: of a period, for a target of the configuration. */
export interface UsageExportRow {
  readonly target: string
  readonly from_ms: number
  /** Exclusive. */
  readonly until_ms: number
  readonly state: 'waiting' | 'written'
  readonly file: string | null
  /** How often it was written. */
  readonly revision: number
  readonly rows: number
  /** What the records added up to before it was last written, as `window-sums` has it. */
  readonly calls: number
  readonly bytes: number
  readonly sums: string | null
  /** Attempts since it was last written. */
  readonly attempts: number
  /** The time from which it may be written; while a process writes it, the time at which its lease ends. */
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

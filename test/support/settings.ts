/** Settings and providers for tests, with only the relevant parts spelled out. */

import type { ProviderKind } from '../../schemas/providers.ts'
import type { Provider } from '../../lib/providers/provider.ts'
import type {
  Timeouts,
  ModelSettings,
  OtlpSettings,
  ProviderSettings,
  Settings
} from '../../lib/core/settings.ts'

const timeouts: Timeouts = {
  connectMs: 1_000, firstByteMs: 1_000, responseMs: 1_000, idleBytesMs: 1_000, idleEventsMs: 1_000
}

export function settings (parts: Partial<Settings> = {}): Settings {
  return {
    server: {
      host: '127.0.0.1',
      acceptedHosts: ['*'],
      port: 0,
      workers: 1,
      logLevel: 'silent',
      logFormat: 'json',
      logClient: true,
      logKeyName: true,
      dataDir: '',
      publicHealth: false,
      exposeStages: true,
      aliases: true,
      litellmHeaders: false,
      compatibility: 'none',
      trustProxy: false,
      corsOrigins: [],
      shutdownDelayMs: 0,
      drainMs: 1_000,
      workerTimeoutMs: 10_000,
      keepAliveMs: 1_000,
      writeTimeoutMs: 300_000,
      maxClientConnections: 10_000
    },
    limits: {
      jsonBodyBytes: 1_000_000,
      jsonBodyTotalBytes: 1_000_000,
      jsonValues: 1_000_000,
      jsonDepth: 64,
      jsonCompression: 20,
      storedBodyBytes: 6 * 1024 * 1024,
      formFields: 100,
      formFiles: 32,
      chatMessages: 20_000,
      chatParts: 20_000,
      chatTools: 1024,
      modelsPerCall: 16,
      audioFileBytes: 1_000_000,
      documentBytes: 1_000_000,
      answerBytes: 1_000_000,
      eventBytes: 1_000_000,
      openCalls: 100,
      maxSharePerKey: 1,
      uploadDiskBytes: 1_000_000_000,
      pipelinedRequests: 16,
      callMs: 10_000,
      bodyMs: 10_000,
      headersMs: 10_000,
      defaultMaxTokens: 8192,
      tags: [],
      models: [],
      withoutStore: 'allow',
      withoutCoordination: 'share'
    },
    endUsers: { store: 'as_given', required: false },
    tools: {
      connectMs: 10_000,
      callMs: 1_000,
      loopMs: 1_000,
      loopTokens: 1_000_000,
      resultBytes: 10_000,
      callsPerTurn: 8,
      maxIdenticalCalls: 3,
      listTtlMs: 1_000,
      sessionIdleMs: 1_000,
      maxSessions: 8,
      allowedHosts: ['example.com', 'a.example', 'elsewhere.example']
    },
    providers: [],
    models: [],
    routes: [],
    toolServers: [],
    keys: [],
    store: { poolSize: 10, connectMs: 5_000, statementMs: 10_000, keysStaleMs: 86_400_000 },
    coordination: { cluster: false, timeoutMs: 500 },
    calls: { keepBodies: [], keptMemoryBytes: 1_000_000 },
    guards: [],
    cache: {},
    alerts: { webhooks: {}, emails: {}, errorPercent: 20, keyExpiryDays: 7 },
    telemetry: { maxSampledPerSecond: 100 },
    usage: {
      keepDays: 90,
      keepRows: 1_000_000,
      exposeCost: true,
      projects: [],
      keys: [],
      exports: {},
      routes: []
    },
    deferred: { forAllProviders: false, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1_000_000 },
    dashboard: { enabled: true, insecure: false, editConfig: false },
    accounts: {},
    responses: { store: true, keepMs: 60_000, maxBytesPerKey: 1_000_000 },
    ...parts
  }
}

export function providerSettings (id: string, kind: ProviderKind): ProviderSettings {
  return {
    id,
    kind,
    enabled: true,
    baseUrl: 'http://127.0.0.1:9',
    headers: {},
    timeouts,
    retries: 0,
    onDisconnect: 'abort',
    cacheMarks: 'off',
    maxConnections: 1,
    maxWaitingCalls: 1000,
    maxWaitingMs: 60_000,
    http2: false,
    quirks: {},
    listModels: false,
    options: {}
  }
}

export function modelSettings (id: string, parts: Partial<ModelSettings> = {}): ModelSettings {
  return { id, hidden: false, ...parts }
}

/** Returns a provider that no test sends anything to. */
export function provider (id: string, enabled = true): Provider {
  return {
    id,
    enabled,
    transport: { send: async () => await Promise.reject(new Error('nothing may be sent')) },
    secrets: [],
    authorize: () => ({}),
    timeouts,
    retries: 0,
    onDisconnect: 'abort',
    quirks: {},
    traits: {},
    adapters: {}
  }
}

/** Settings of a collector that gets only spans. */
export function otlpSettings (endpoint: string, parts: Partial<OtlpSettings> = {}): OtlpSettings {
  return {
    endpoint,
    protocol: 'http/json',
    headers: {},
    sampler: 'parentbased_traceidratio',
    sample: 1,
    traces: true,
    metrics: false,
    logs: false,
    metricsIntervalMs: 60_000,
    openinference: false,
    maxQueuedSpans: 1000,
    maxQueuedLogs: 1000,
    ...parts
  }
}

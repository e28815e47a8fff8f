/**
 * Describes the dashboard of examples/ with the types of Grafana's own package, for a compiler that reads the
 * JSON as a literal.
 */

import type { Dashboard, DataQuery, FieldConfig, GraphFieldConfig, Panel, RowPanel } from '@grafana/schema'
import type {
  Options
} from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen'

/** The same as JSON, which has the values of enumerations instead of their names. */
type Printed<T> = 0 extends 1 & T
  ? T
  : T extends string
    ? `${T}`
    : T extends object
      ? { [Name in keyof T]: Printed<T[Name]> }
      : T

/** A query to Prometheus: the package only has the types of other data sources. */
interface PrometheusQuery extends DataQuery {
  readonly expr: string
  readonly legendFormat: string
}

interface TimeSeriesPanel extends Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> {
  readonly type: 'timeseries'
  readonly options: Options
  readonly fieldConfig: {
    readonly defaults: Omit<FieldConfig, 'custom'> & { readonly custom: GraphFieldConfig }
    readonly overrides: readonly []
  }
  readonly targets: readonly PrometheusQuery[]
}

interface Row extends Omit<RowPanel, 'type'> {
  readonly type: 'row'
}

interface OurDashboard extends Omit<Dashboard, 'panels'> {
  readonly panels: ReadonlyArray<TimeSeriesPanel | Row>
}

/** The dashboard: panels of the kinds that it uses, with the options of each. */
export type GrafanaDashboard = Printed<OurDashboard>

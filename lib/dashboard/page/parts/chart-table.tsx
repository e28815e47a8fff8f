/** The values of a chart as a table, for readers who do not see it. */

import type { JSX } from 'preact'
import type { ChartProps } from './chart-props.ts'
import { bucketName, valueText } from './chart-tip.tsx'

export function ChartTable ({ label, atMs, bucket, series, format }: ChartProps): JSX.Element {
  return (
    <div class='visually-hidden'>
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope='col'>Time</th>
            {series.map(({ label }) => (
              <th key={label} scope='col'>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {atMs.map((at, index) => (
            <tr key={at}>
              <th scope='row'>{bucketName(at, bucket)}</th>
              {series.map(({ label, values }) => (
                <td key={label}>{valueText(values[index], format)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export * from './file';
export { isOwnName } from './folder';
export { type NodeFiles as Files, nodeFiles } from './node-files';
export { type DamagedPart, type Salvage, salvage } from './salvage';
export type { SalvagedJournal } from './salvaged-journal';

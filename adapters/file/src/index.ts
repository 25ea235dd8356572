export * from './file';
export type { Files } from './files';
export { type DamagedPart, type Salvage, salvage } from './salvage';
export type { SalvagedJournal } from './salvaged-journal';

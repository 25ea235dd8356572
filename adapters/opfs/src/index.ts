export { type OpfsOptions, opfs } from './opfs';


Jxq`&`D]+^ŒaGa€^¿c›ca]™aaüaãbÂaQ_Öb%cÇ`Ia:aQ`cuc2`G`
_F_<]à`Óa}``Ì_r_¨_Â_ì_u``ô]``1_i_^0]@^ƒb‹b—\K__Ó`7c¦b:_P_ë^wa